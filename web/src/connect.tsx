// The first two steps: a wallet, and a private RPC URL that the wallet really uses.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type Session, session as beginSession, type Status } from './api'
import { shortened } from './amounts'
import { add, create, type Reach, reach } from './privateRpc'
import { remember, remembered } from './remembered'
import { account, ask, askSoon, discover, firstOf, type Wallet, WalletError } from './wallet'

export interface Connection {
  wallet: Wallet
  address: string
  session: Session
}

interface ConnectProps {
  connection: Connection | undefined
  connected(connection: Connection | undefined): void
  say(text: string): void
}

export function Connect({ connection, connected, say }: ConnectProps) {
  const [wallets, setWallets] = useState<Wallet[]>([])
  const [choosing, setChoosing] = useState(false)

  const begun = useRef(0)

  useEffect(
    () =>
      discover((wallet) => {
        setWallets((known) =>
          known.some((one) => one.id === wallet.id) ? known : [...known, wallet],
        )
        // The wallet of the last visit: it is asked only for what it allowed already, and shows nothing.
        if (wallet.rdns !== '' && wallet.rdns === remembered('wallet')) void connect(wallet, false)
      }),
    [],
  )

  const connect = async (wallet: Wallet, mayAsk = true): Promise<void> => {
    if (!mayAsk && begun.current) return
    const mine = ++begun.current
    const isStill = (): boolean => mine === begun.current // no other wallet was chosen meanwhile
    setChoosing(false)
    try {
      const lower = await account(wallet.provider, mayAsk)
      if (!isStill()) return
      if (lower === undefined) return mayAsk ? say('The wallet allowed no account.') : undefined
      const session = await beginSession(lower)
      if (!isStill()) return
      remember('wallet', wallet.rdns)
      connected({ wallet, address: session.address ?? lower, session })
    } catch (error) {
      if (!isStill()) return
      say(
        error instanceof WalletError && error.isRejection
          ? 'You declined the connection in your wallet.'
          : (error as Error).message,
      )
    }
  }

  const disconnect = (wallet: Wallet): void => {
    remember('wallet', '')
    connected(undefined)
    say('Disconnected. Your orders go on, and your wallet keeps its RPC URL.')
    // Not all wallets know it (EIP-2255); without it only this page forgets.
    ask(wallet.provider, 'wallet_revokePermissions', [{ eth_accounts: {} }]).catch(() => undefined)
  }

  useWalletChanges(connection, connected, say)

  if (connection) {
    return (
      <p class="account">
        <bdi>{connection.wallet.name}</bdi>{' '}
        <code title={connection.address}>{shortened(connection.address)}</code>{' '}
        <button type="button" onClick={() => disconnect(connection.wallet)}>
          Disconnect
        </button>
      </p>
    )
  }
  return (
    <div class="connect">
      <button
        type="button"
        class="primary"
        onClick={() =>
          wallets.length === 1 && wallets[0] ? void connect(wallets[0]) : setChoosing(!choosing)
        }
      >
        Connect wallet
      </button>
      {choosing && !wallets.length && (
        <p>No wallet was found in this browser. Install one that supports EIP-6963, then reload.</p>
      )}
      {choosing && (
        <ul class="wallets">
          {wallets.map((wallet) => (
            <li key={wallet.id}>
              <button type="button" onClick={() => void connect(wallet)}>
                <bdi>{wallet.name}</bdi>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Follows the wallet to another account, and away from the page. */
function useWalletChanges(
  connection: Connection | undefined,
  connected: ConnectProps['connected'],
  say: ConnectProps['say'],
): void {
  const { provider } = connection?.wallet ?? {}
  const address = connection?.address.toLowerCase()
  useEffect(() => {
    if (!connection || !provider?.on) return
    let turn = 0 // the newest of several events decides
    const follow = (accounts: unknown): void => {
      const mine = ++turn
      const first = firstOf(accounts)
      if (first === address) return
      if (first === undefined) {
        connected(undefined)
        return say('The wallet disconnected.')
      }
      beginSession(first).then(
        (session) => {
          if (mine !== turn) return
          connected({ ...connection, address: session.address ?? first, session })
          say(`The wallet changed to account ${shortened(session.address ?? first)}.`)
        },
        (error: Error) => {
          if (mine !== turn) return
          connected(undefined)
          say(error.message)
        },
      )
    }
    provider.on('accountsChanged', follow)
    return () => {
      turn++
      provider.removeListener?.('accountsChanged', follow)
    }
  }, [provider, address])
}

export type Privacy = 'checking' | 'other chain' | Reach

/** Why nothing is signed. */
export const NOT_PRIVATE: Record<Exclude<Privacy, 'private'>, string> = {
  checking: 'The page asks your wallet which RPC URL it uses.',
  'other chain': 'Your wallet is on another chain.',
  elsewhere: 'Your wallet does not use the private connection yet: see above.',
  'other session': 'Your wallet uses a private connection of another session or account: see above.',
  'no answer': "Your wallet's RPC URL does not answer: see above.",
  'service away': 'The service does not answer.',
}

interface PrivateProps {
  connection: Connection
  privacy: Privacy
  /** undefined: not read yet; null: the service does not answer. */
  status: Status | null | undefined
  setPrivacy(privacy: Privacy): void
  say(text: string): void
}

const AGAIN_MS = 3_000
const AWAY =
  'The service, or your network, does not answer: nothing can be quoted or sent, and what is shown ' +
  'may be old. The page tries again.'
const SET_UP: { [privacy in Privacy]?: string } = {
  elsewhere: 'Your wallet uses another RPC URL: what it sends would be public.',
  'other session':
    'Your wallet uses a private RPC URL of another session or account: orders sent there do not ' +
    'appear here.',
  'no answer':
    "Your wallet's RPC URL does not answer. If it is one of this service, it has ended: set up a new one.",
}

/** What does not work at the service. */
function troublesOf(status: Status | null | undefined): string[] {
  if (status === null) return [AWAY]
  if (!status) return []
  const { node, relay, sources } = status
  return [
    !node &&
      "The service's Ethereum node does not answer: there are no quotes, and no order changes its " +
        'state until it does.',
    !relay && 'The private relay does not answer: what you sign now waits for it, or is refused.',
    !sources && 'No source of routes answers: swaps cannot be quoted.',
  ].filter((one) => one !== false)
}

/** Asks the wallet for its chain, and through the wallet for the service behind its RPC URL. */
export async function checkPrivacy({ wallet, session, address }: Connection): Promise<Privacy> {
  const chain = await askSoon<unknown>(wallet.provider, 'eth_chainId').catch(() => undefined)
  if (typeof chain === 'string' && Number(chain) !== session.chainId) return 'other chain'
  return reach(wallet.provider, session, address)
}

/** Checks again, just before something is signed, who would sign and where it would be sent. */
export async function assertPrivate(connection: Connection): Promise<void> {
  const lower = await account(connection.wallet.provider, false).catch((error: Error) => {
    throw new Error(`${error.message} Nothing was sent.`)
  })
  if (lower !== connection.address.toLowerCase()) {
    throw new Error('Your wallet changed to another account. Nothing was sent.')
  }
  const privacy = await checkPrivacy(connection)
  if (privacy !== 'private') throw new Error(`${NOT_PRIVATE[privacy]} Nothing was sent.`)
}

export function PrivateRpc({ connection, privacy, status, setPrivacy, say }: PrivateProps) {
  const [url, setUrl] = useState<string>()
  const isBusy = useRef(false)

  const check = useCallback(async () => {
    if (isBusy.current) return
    isBusy.current = true
    try {
      setPrivacy(await checkPrivacy(connection))
    } finally {
      isBusy.current = false
    }
  }, [connection])

  // The wallet tells of another chain, never of another RPC URL: so ask again and again.
  useEffect(() => {
    const { provider } = connection.wallet
    const listen = (): void => void check()
    provider.on?.('chainChanged', listen)
    const timer = setInterval(listen, AGAIN_MS)
    void check()
    return () => {
      clearInterval(timer)
      provider.removeListener?.('chainChanged', listen)
    }
  }, [check])

  const setUp = async (): Promise<void> => {
    try {
      const isUsable = url !== undefined && privacy !== 'no answer'
      const made = isUsable ? url : await create(connection.address)
      setUrl(made)
      await add(connection.wallet.provider, connection.session, made)
      await check()
    } catch (error) {
      const isRejection = error instanceof WalletError && error.isRejection
      say(
        isRejection
          ? 'You declined the RPC URL in your wallet. Nothing changed.'
          : `The wallet did not add it: ${(error as Error).message}`,
      )
    }
  }

  const toMainnet = (): void => {
    const chainId = `0x${connection.session.chainId.toString(16)}`
    ask(connection.wallet.provider, 'wallet_switchEthereumChain', [{ chainId }]).then(
      () => void check(),
      (error: Error) => say(`The wallet did not switch: ${error.message}`),
    )
  }

  const troubles = troublesOf(status)
  const isGood = privacy === 'private' && !troubles.length
  return (
    <section aria-labelledby="private" class={`private ${isGood ? 'good' : 'bad'}`}>
      <h2 id="private">Private connection</h2>
      {privacy === 'checking' && <p>Asking your wallet which RPC URL it uses…</p>}
      {privacy === 'private' && (
        <p>
          Your wallet sends through this service: what you sign goes to the private relay, never to
          the public mempool.
        </p>
      )}
      {troubles.map((trouble) => (
        <p key={trouble} class="warn">
          {trouble}
        </p>
      ))}
      {privacy === 'service away' && status !== null && <p class="warn">{AWAY}</p>}
      {privacy === 'other chain' && (
        <>
          <p>Your wallet is on another chain. This service is for Ethereum mainnet.</p>
          <button type="button" onClick={toMainnet}>
            Switch to Ethereum
          </button>
        </>
      )}
      {privacy in SET_UP && (
        <>
          <p>{SET_UP[privacy]} Swaps stay off until it uses this session's URL.</p>
          <button type="button" class="primary" onClick={() => void setUp()}>
            Set up private connection
          </button>
          {url !== undefined && (
            <p class="note">
              Some wallets say that they added it and change nothing. Then open the wallet's network
              settings for Ethereum and set this RPC URL by hand. It is yours alone:{' '}
              <code class="url">{url}</code>
            </p>
          )}
        </>
      )}
    </section>
  )
}
