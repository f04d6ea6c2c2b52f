// One transaction through the wallet: sent privately, found again as an order, and compared with what was asked.

import { show } from './amounts'
import { get, now, type Schemas } from './api'
import type { Connection } from './connection'
import { assertPrivate } from './privacy'
import { refusalText } from './refusals'
import { remember, remembered } from './remembered'
import { isUnsent, type Order, orderOf } from './stream'
import { sentence } from './text'
import { askSoon, type Issued, send, WalletError } from './wallet'

/** What the wallet is asked for, in the words of an order. */
export interface Terms {
  kind: 'approval' | 'swap' | 'wrap'
  fromToken?: string
  toToken?: string
  /** Smallest units. */
  amount: string
  minReturnAmount?: string
  decimals: number
  symbol: string
  /** Wei per gas unit of the quote. */
  feeCap?: string | undefined
}

export interface Outcome {
  order: Order
  /** What the wallet did otherwise than it was asked; '' for nothing. */
  otherwise: string
}

/**
 * Sends a transaction through the wallet and returns the order that it became. `isStill` says,
 * just before the wallet is asked, whether it is still wanted; `asks` is called then with the time of
 * the newest order before it; `signed` when the wallet has named its hash. Raises an error for `failureText`.
 */
export const sendPrivately = (...sent: Parameters<typeof once>): Promise<Outcome> =>
  alone(() => once(...sent))

/** Lets the wallet be asked for one thing at a time. */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  // A wallet keeps a request that the page no longer shows: another one could be signed, too.
  if (isOpen) throw new Error('Your wallet still asks for another transaction. Answer it first. Nothing was sent.')
  isOpen = true
  try {
    return await work()
  } finally {
    isOpen = false
  }
}

let isOpen = false

/** What the wallet was asked for may have been sent elsewhere, or otherwise than it says. */
export class Strayed extends Error {}

/** The clocks of the processes of the service may differ by so much. */
const CLOCKS_MS = 5_000

/** Checks, just before the wallet is asked, where it would send, and that it is still wanted. */
export async function assertWanted(connection: Connection, isStill: () => boolean): Promise<void> {
  await assertPrivate(connection)
  if (!isStill()) throw new Error('You changed it meanwhile. Nothing was sent.')
}

type Item = Schemas['HistoryItem']

/** The newest orders of an account. Raises ApiError. */
export const newest = async (address: string, kind: string, limit = 20): Promise<Item[]> =>
  (await get<{ orders: Item[] }>(`/api/v1/mev/orders/user/${address}`, { limit: `${limit}`, kind })).orders

/** When the newest order of a kind was made, by the service's clock; '' without one. Raises an Error. */
export const newestTime = async (address: string, kind: string): Promise<string> => {
  const [last] = await newest(address, kind, 1).catch((error: Error) => {
    throw new Error(`${error.message} Nothing was sent.`)
  })
  return last?.createdAt ?? ''
}

interface Steps {
  isStill(): boolean
  /** `after`: when the newest order before the question was made, by the service's clock; '' without one. */
  asks?(after: string): void
  signed?(): void
}

async function once(connection: Connection, tx: Issued, terms: Terms, steps: Steps): Promise<Outcome> {
  const after = await newestTime(connection.address, 'any')
  await assertWanted(connection, steps.isStill)
  const asked = now() - CLOCKS_MS
  steps.asks?.(after)
  let hash: string
  try {
    hash = await send(connection.wallet.provider, connection.address.toLowerCase(), tx)
  } catch (error) {
    return sentNevertheless(connection, terms, after, error)
  }
  if (tx.nonce !== undefined && !sentOf(hash)) remember(`sent.${hash}`, JSON.stringify(tx))
  steps.signed?.()
  const order = await orderOf(connection.address, terms.kind, hash)
  // the same bytes may be sent once more: then the relay took them anew
  if (order && Date.parse(order.submittedAt ?? order.createdAt) >= asked) {
    return { order, otherwise: await otherwise(connection, order, terms) }
  }
  throw new Strayed(
    `The wallet named transaction ${hash}, ${order ? 'which is not the one that it was asked for' : 'and this service did not get it'}. ` +
      'Your wallet may have sent it elsewhere, in public. Look for it in an explorer before you try again.',
  )
}

/** The newest order of an account that was made after a time and may have been sent; undefined if there is none, or nobody can say. */
export async function sentSince(address: string, after: string): Promise<Item | undefined> {
  const orders = await newest(address, 'any').catch(() => [])
  return orders.find((order) => order.createdAt > after && !isUnsent(order))
}

/** A wallet may send and then say that it did not: the service is the judge of what it has. */
async function sentNevertheless(
  { address }: Connection,
  terms: Terms,
  after: string,
  error: unknown,
): Promise<Outcome> {
  const sent = await sentSince(address, after)
  if (!sent) throw error
  const order = await get<Order>(`/api/v1/mev/orders/${encodeURIComponent(sent.orderId)}`)
  if (order.kind !== terms.kind || amountFault(order, terms)) throw new Strayed(REFUTED)
  const told = failureText(error)
  const has = order.status === 'pending' ? 'The service got the transaction all the same: follow its order.' : 'It sent the transaction all the same.'
  return { order, otherwise: `${told} ${has}` }
}

/** An order that is newer than the question refutes a wallet that named no transaction. */
export const REFUTED =
  'Your wallet named none, but a transaction of this account was sent since it was asked. ' +
  'Look at it in your orders before you sign anything again.'

/** What an order has that was not asked for; '' for nothing. */
function amountFault({ orderParams: of }: Order, terms: Terms): string {
  const isSame =
    (terms.fromToken === undefined || of.fromToken === terms.fromToken) &&
    (terms.toToken === undefined || of.toToken === terms.toToken) &&
    of.amount === terms.amount &&
    (terms.minReturnAmount === undefined || of.minReturnAmount === terms.minReturnAmount)
  if (isSame) return ''
  const asked = `${show(terms.amount, terms.decimals)} ${terms.symbol}`
  const isOfToken = terms.fromToken === undefined || of.fromToken === terms.fromToken
  const signed = isOfToken ? `: ${show(of.amount, terms.decimals)} instead of ${asked}` : ''
  return `Your wallet signed something else than this page asked for${signed}. Look at the order before you go on.`
}

/** More than this times the quote's cap is told. */
const MUCH = 3n
const GWEI = 9

/** What the wallet signed otherwise than it was asked; '' for nothing. */
async function otherwise({ wallet }: Connection, order: Order, terms: Terms): Promise<string> {
  const fault = amountFault(order, terms)
  if (fault || terms.feeCap === undefined) return fault
  const read = askSoon<Record<string, unknown> | null>(wallet.provider, 'eth_getTransactionByHash', [order.txHash])
  const tx = await read.catch(() => null)
  if (typeof tx?.maxFeePerGas !== 'string' || typeof tx.gas !== 'string') return ''
  const [cap, asked] = [BigInt(tx.maxFeePerGas), BigInt(terms.feeCap)]
  if (cap <= MUCH * asked) return ''
  const most = show(cap * BigInt(tx.gas), 18, 6)
  return (
    `Your wallet signed a network fee of up to ${most} ETH, ${show((cap * 10n) / (asked || 1n), 1)} times what was asked. ` +
    `If that is not what you want, cancel it or replace it in your wallet. (Its fee cap is ${show(cap, GWEI, 1)} gwei in place of ${show(asked, GWEI, 1)}.)`
  )
}

/** A transaction that this page sent with all fields of a quote. */
export type Sent = Issued & { nonce: number; maxFeePerGas: string }

/** What this page sent; undefined if it did not. */
export function sentOf(txHash: string | undefined): Sent | undefined {
  try {
    const sent = JSON.parse(remembered(`sent.${txHash?.toLowerCase()}`)) as Partial<Sent> | null
    return typeof sent?.nonce === 'number' && sent.maxFeePerGas ? (sent as Sent) : undefined
  } catch {
    return undefined
  }
}

/** Forgets what was sent, when its order has ended. */
export const forget = (txHash: string | undefined): void => remember(`sent.${txHash?.toLowerCase()}`, '')

/** Wei per gas unit of a replacement: an eighth more, relays want a tenth. */
export const raised = (maxFeePerGas: string): string => String((BigInt(maxFeePerGas) * 9n + 7n) / 8n)

/** The sentence for a person about a transaction that was not sent, or not found again. `wallet`: its name, if nothing was sent. */
export function failureText(error: unknown, wallet?: string): string {
  if (!(error instanceof WalletError)) return (error as Error).message
  if (error.isRejection && wallet !== undefined) return `You declined it in ${wallet}. Nothing was sent.`
  const refused = wallet === undefined ? undefined : refusalText(error.message)
  return refused ?? `The wallet says: ${sentence(error.message)}`
}
