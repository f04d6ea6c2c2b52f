// The private RPC URL of a wallet: made here, added by the wallet, and checked through the wallet.

import { get, post, remove, type Session } from './api'
import { ask, type Provider } from './wallet'

interface RpcToken {
  id: string
  wallets: string[]
  revokedAt?: string
}

const CHAIN_NAME = 'Ethereum (private swaps)'

/** The id that an eth_call through the wallet answers, if it reaches this service; else undefined. */
async function idThroughWallet(provider: Provider, session: Session): Promise<string | undefined> {
  try {
    const { to, data } = session.connected
    const answer = await ask<unknown>(provider, 'eth_call', [{ to, data }, 'latest'])
    return typeof answer === 'string' ? decodeText(answer) : undefined
  } catch {
    return undefined
  }
}

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

/** Whether the wallet sends this account's transactions to this service, and nowhere else. */
export async function isPrivate(
  provider: Provider,
  session: Session,
  address: string,
): Promise<boolean> {
  const id = await idThroughWallet(provider, session)
  if (id === undefined) return false
  if (!owned.has(id)) {
    for (const token of await list()) owned.set(token.id, token.wallets)
  }
  // a revoked URL answers nothing: the id itself shows that this one works
  return owned.get(id)?.includes(address) ?? false
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
