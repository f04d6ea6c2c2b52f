// The wallets of this browser, and the one that is connected.

import { useEffect, useRef, useState } from 'preact/hooks'
import { shortened } from './amounts'
import { type Session, session as beginSession } from './api'
import { remember, remembered } from './remembered'
import { account, ask, discover, firstOf, type Wallet, WalletError } from './wallet'

export interface Connection {
  wallet: Wallet
  address: string
  session: Session
}

/** A wallet that shows nothing for so long may be locked. */
const SILENT_MS = 2_000

export interface Wallets {
  all: readonly Wallet[]
  /** The wallet that is asked, and whether it has been silent. */
  asked: { wallet: Wallet; isSilent: boolean } | undefined
  problem: string
  connect(wallet: Wallet): void
  disconnect(): void
}

/** Discovers wallets, and connects one; `say` tells what happened without a click. */
export function useWallets(
  connection: Connection | undefined,
  connected: (connection: Connection | undefined) => void,
  say: (text: string) => void,
): Wallets {
  const [all, setAll] = useState<Wallet[]>([])
  const [asked, setAsked] = useState<Wallets['asked']>()
  const [problem, setProblem] = useState('')
  const begun = useRef(0)

  useEffect(
    () =>
      discover((wallet) => {
        setAll((before) => (before.some(({ id }) => id === wallet.id) ? before : [...before, wallet]))
        // The wallet of the last visit: it is asked only for what it allowed already, and shows nothing.
        if (wallet.rdns !== '' && wallet.rdns === remembered('wallet')) void connect(wallet, false)
      }),
    [],
  )

  const connect = async (wallet: Wallet, mayAsk = true): Promise<void> => {
    if (!mayAsk && begun.current) return
    const mine = ++begun.current
    const isStill = (): boolean => mine === begun.current // no other wallet was chosen meanwhile
    setProblem('')
    if (mayAsk) setAsked({ wallet, isSilent: false })
    const silent = setTimeout(() => isStill() && mayAsk && setAsked({ wallet, isSilent: true }), SILENT_MS)
    try {
      const next = await connectionOf(wallet, mayAsk)
      if (!isStill()) return
      if (next) connected(next)
      else if (mayAsk) setProblem('The wallet allowed no account.')
      setAsked(undefined)
    } catch (error) {
      if (!isStill()) return
      const isPending = error instanceof WalletError && error.isPending
      setAsked(isPending ? { wallet, isSilent: true } : undefined)
      if (!isPending) setProblem(problemOf(error, wallet))
    } finally {
      clearTimeout(silent)
    }
  }

  const disconnect = (): void => {
    if (!connection) return
    remember('wallet', '')
    connected(undefined)
    say('Disconnected. Your orders go on, and your wallet keeps its RPC URL.')
    // Not all wallets know it (EIP-2255); without it only this page forgets.
    ask(connection.wallet.provider, 'wallet_revokePermissions', [{ eth_accounts: {} }]).catch(() => undefined)
  }

  useWalletChanges(connection, connected, say)
  return { all, asked, problem, connect: (wallet) => void connect(wallet), disconnect }
}

const problemOf = (error: unknown, { name }: Wallet): string =>
  error instanceof WalletError && error.isRejection
    ? `You declined the connection in ${name}.`
    : error instanceof WalletError
      ? `The wallet says: ${error.message}`
      : (error as Error).message

/** The connection of the wallet's first account; undefined if it allows none. */
async function connectionOf(wallet: Wallet, mayAsk: boolean): Promise<Connection | undefined> {
  const lower = await account(wallet.provider, mayAsk)
  if (lower === undefined) return undefined
  const session = await beginSession(lower)
  remember('wallet', wallet.rdns)
  return { wallet, address: session.address ?? lower, session }
}

/** Follows the wallet to another account, and away from the page. */
function useWalletChanges(
  connection: Connection | undefined,
  connected: (connection: Connection | undefined) => void,
  say: (text: string) => void,
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
