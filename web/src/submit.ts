// One transaction through the wallet: sent privately, and found again as an order.

import { now } from './api'
import { assertPrivate, type Connection } from './connect'
import { remember, remembered } from './remembered'
import { type Order, orderOf } from './stream'
import { type Issued, send, WalletError } from './wallet'

/**
 * Sends a transaction through the wallet and returns the order that it became. `isStill` says,
 * just before the wallet is asked, whether it is still wanted; `signed` is called when the wallet
 * has named its hash. Raises an error for `failureText`.
 */
export const sendPrivately = (...sent: Parameters<typeof once>): Promise<Order> =>
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

/** What the wallet was asked for may have been sent elsewhere. */
export class Strayed extends Error {}

/** The clocks of the processes of the service may differ by so much. */
const CLOCKS_MS = 5_000

/** Checks, just before the wallet is asked, where it would send, and that it is still wanted. */
export async function assertWanted(connection: Connection, isStill: () => boolean): Promise<void> {
  await assertPrivate(connection)
  if (!isStill()) throw new Error('You changed it meanwhile. Nothing was sent.')
}

async function once(
  connection: Connection,
  kind: 'approval' | 'swap' | 'wrap',
  tx: Issued,
  isStill: () => boolean,
  signed?: () => void,
): Promise<Order> {
  await assertWanted(connection, isStill)
  const asked = now() - CLOCKS_MS
  const hash = await send(connection.wallet.provider, connection.address.toLowerCase(), tx)
  if (tx.nonce !== undefined && !sentOf(hash)) remember(`sent.${hash}`, JSON.stringify(tx))
  signed?.()
  const order = await orderOf(connection.address, kind, hash)
  // the same bytes may be sent once more: then the relay took them anew
  if (order && Date.parse(order.submittedAt ?? order.createdAt) >= asked) return order
  throw new Strayed(
    `The wallet named transaction ${hash}, ${order ? 'which is not the one that it was asked for' : 'and this service did not get it'}. ` +
      'Your wallet may have sent it elsewhere, in public. Look for it in an explorer before you try again.',
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

/** The sentence for a person about a transaction that was not sent, or not found again. */
export function failureText(error: unknown): string {
  return error instanceof WalletError && error.isRejection
    ? 'You declined it in your wallet. Nothing was sent.'
    : (error as Error).message
}
