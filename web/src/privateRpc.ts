// The private RPC URL of a wallet: made here, added by the wallet, and checked through the wallet.

import { ApiError, get, post, remove, type Session } from './api'
import { ask, askSoon, type Provider } from './wallet'

interface RpcToken {
  id: string
  wallets: string[]
  revokedAt?: string
}

const CHAIN_NAME = 'Ethereum (private swaps)'

/** What a wallet's RPC URL is; `no answer`: of a service that answers the page. */
export type Reach = 'private' | 'other session' | 'elsewhere' | 'no answer' | 'service away'

/** The answer of an eth_call through the wallet. Another node answers `0x`. Raises an error. */
const throughWallet = (provider: Provider, { connected: { to, data } }: Session): Promise<unknown> =>
  askSoon(provider, 'eth_call', [{ to, data }, 'latest'])

/** Decodes one ABI-encoded string of printable ASCII. */
function decodeText(answer: string): string | undefined {
  const words = /^0x((?:[0-9a-f]{64})+)$/i.exec(answer)?.[1]
  if (words === undefined || words.length < 192) return undefined
  const length = Number(BigInt(`0x${words.slice(64, 128)}`))
  const bytes = words.slice(128, 128 + 2 * length).match(/../g) ?? []
  if (length > 200 || bytes.length !== length) return undefined
  const text = String.fromCharCode(...bytes.map((pair) => parseInt(pair, 16)))
  return /^[\x20-\x7e]*$/.test(text) ? text : undefined
}

/** Where the wallet sends this account's transactions. */
export async function reach(provider: Provider, session: Session, address: string): Promise<Reach> {
  let answer: unknown
  try {
    answer = await throughWallet(provider, session)
  } catch {
    // Its URL ended, or the service or the network is down: the page asks the service itself.
    return (await learned()) ? 'no answer' : 'service away'
  }
  const id = typeof answer === 'string' ? decodeText(answer) : undefined
  if (id === undefined) return 'elsewhere'
  if (!owned.has(id) && !(await learned())) return 'service away'
  // a revoked URL answers nothing: the id itself shows that this one works
  return owned.get(id)?.includes(address) ? 'private' : 'other session'
}

/** Reads the session's URLs; false if the service does not answer. */
async function learned(): Promise<boolean> {
  try {
    for (const token of await list()) owned.set(token.id, token.wallets)
    return true
  } catch (error) {
    return error instanceof ApiError && error.code !== 'UNREACHABLE' && error.status < 500
  }
}

/** Wallets of this session's RPC URLs, by id. */
const owned = new Map<string, string[]>()
const KEPT = 5

const list = async (): Promise<RpcToken[]> =>
  (await get<{ tokens: RpcToken[] }>('/api/v1/mev/rpc')).tokens

/** Makes an RPC URL for the account, and revokes the oldest of many that no wallet took. */
export async function create(address: string): Promise<string> {
  const mine = (await list()).filter(
    (one) => one.revokedAt === undefined && one.wallets.includes(address),
  )
  for (const { id } of mine.slice(0, Math.max(mine.length - KEPT + 1, 0))) {
    await remove(`/api/v1/mev/rpc/${encodeURIComponent(id)}`)
  }
  const body = { wallets: [address], name: 'web page' }
  const { token } = await post<{ token: { url: string } }>('/api/v1/mev/rpc', body)
  return token.url
}

/** Asks the wallet to use the URL (EIP-3085). Some wallets say yes and change nothing. */
export async function add(provider: Provider, session: Session, url: string): Promise<void> {
  await ask(provider, 'wallet_addEthereumChain', [
    {
      chainId: `0x${session.chainId.toString(16)}`,
      chainName: CHAIN_NAME,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: [url],
      blockExplorerUrls: [session.explorerUrl],
    },
  ])
}
