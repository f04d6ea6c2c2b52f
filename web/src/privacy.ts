// Where the wallet sends: its RPC URL is asked through the wallet, again and again, and before each signature.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { now } from './api'
import type { Connection } from './connection'
import { add, create, type Reach, reach } from './privateRpc'
import { sentence } from './text'
import { account, ask, askSoon, WalletError } from './wallet'

export type Privacy = 'checking' | 'other chain' | Reach

/** Why nothing is signed. */
export const NOT_PRIVATE: Record<Exclude<Privacy, 'private'>, string> = {
  checking: 'The page asks your wallet which RPC URL it uses.',
  'other chain': 'Your wallet is on another chain.',
  elsewhere: 'Your wallet uses another RPC URL: what it sends would be public.',
  'other session': 'Your wallet uses a private RPC URL of another session or account.',
  'no answer': "Your wallet's RPC URL does not answer.",
  'service away': 'The service does not answer.',
}

const AGAIN_MS = 3_000
/** After so long a wallet that said yes and changed nothing needs the URL by hand. */
const UNCHANGED_MS = 6_000

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

export interface PrivateSending {
  privacy: Privacy
  /** When it was checked last; 0 before. */
  checkedAt: number
  /** The URL that was made; it is shown where the wallet changed nothing. */
  url: string | undefined
  isUrlShown: boolean
  showUrl(): void
  isAsking: boolean
  /** What the wallet answered, for a person; '' for nothing. */
  problem: string
  setUp(): void
  toMainnet(): void
}

/** Follows what the wallet uses, from the account's connection on. */
export function usePrivacy(connection: Connection | undefined): PrivateSending {
  const [privacy, setPrivacy] = useState<{ of?: Connection; is: Privacy; at: number }>({ is: 'checking', at: 0 })
  const isBusy = useRef(false)

  const check = useCallback(async () => {
    if (isBusy.current || !connection) return
    isBusy.current = true
    try {
      const is = await checkPrivacy(connection)
      setPrivacy({ of: connection, is, at: now() })
    } finally {
      isBusy.current = false
    }
  }, [connection])

  // The wallet tells of another chain, never of another RPC URL: so ask again and again.
  useEffect(() => {
    if (!connection) return
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

  const isOfThis = connection !== undefined && privacy.of === connection
  const is = isOfThis ? privacy.is : 'checking'
  return { privacy: is, checkedAt: isOfThis ? privacy.at : 0, ...useSetUp(connection, is, check) }
}

function problemOf(error: unknown, wallet: string): string {
  if (!(error instanceof WalletError)) return (error as Error).message
  if (error.isRejection) return 'You declined it. Nothing changed.'
  if (error.isPending) return `Open ${wallet}: a request waits there.`
  return `The wallet says: ${sentence(error.message)}`
}

/** Makes an RPC URL, and asks the wallet to use it. */
function useSetUp(connection: Connection | undefined, privacy: Privacy, check: () => Promise<void>) {
  const [url, setUrl] = useState<string>()
  const [isUrlShown, setUrlShown] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [problem, setProblem] = useState('')
  const timer = useRef(0)

  useEffect(() => {
    setUrl(undefined)
    setUrlShown(false)
    setProblem('')
    return () => clearTimeout(timer.current)
  }, [connection?.address])

  const setUp = async (): Promise<void> => {
    if (!connection || isAsking) return
    setAsking(true)
    setProblem('')
    try {
      const isUsable = url !== undefined && privacy !== 'no answer'
      const made = isUsable ? url : await create(connection.address)
      setUrl(made)
      await add(connection.wallet.provider, connection.session, made)
      timer.current = window.setTimeout(() => setUrlShown(true), UNCHANGED_MS)
      await check()
    } catch (error) {
      // a wallet that cannot add it may still take it by hand
      setUrlShown(error instanceof WalletError && !error.isRejection && !error.isPending)
      setProblem(problemOf(error, connection.wallet.name))
    } finally {
      setAsking(false)
    }
  }

  const toMainnet = (): void => {
    if (!connection) return
    const chainId = `0x${connection.session.chainId.toString(16)}`
    ask(connection.wallet.provider, 'wallet_switchEthereumChain', [{ chainId }]).then(
      () => void check(),
      (error: Error) => setProblem(`The wallet says: ${sentence(error.message)}`),
    )
  }

  const showUrl = (): void => setUrlShown(true)
  return { url, isUrlShown, showUrl, isAsking, problem, setUp: () => void setUp(), toMainnet }
}
