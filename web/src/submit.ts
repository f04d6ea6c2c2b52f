// One transaction through the wallet: sent privately, and found again as an order.

import { assertPrivate, type Connection } from './connect'
import { type Order, orderOf } from './stream'
import { type Issued, send, WalletError } from './wallet'

/**
 * Sends a transaction through the wallet and returns the order that it became. `isStill` says,
 * just before the wallet is asked, whether it is still wanted; `signed` is called when the wallet
 * has named its hash. Raises an error for `failureText`.
 */
export async function sendPrivately(
  connection: Connection,
  kind: 'approval' | 'swap' | 'wrap',
  tx: Issued,
  isStill: () => boolean,
  signed?: () => void,
): Promise<Order> {
  await assertPrivate(connection)
  if (!isStill()) throw new Error('You changed it meanwhile. Nothing was sent.')
  const hash = await send(connection.wallet.provider, connection.address.toLowerCase(), tx)
  if (tx.nonce !== undefined) localStorage.setItem(`nonce ${hash}`, String(tx.nonce))
  signed?.()
  const order = await orderOf(connection.address, kind, hash)
  if (order) return order
  throw new Error(
    `The wallet named transaction ${hash}, and this service did not get it. Your wallet may ` +
      'have sent it elsewhere, in public. Look for it in an explorer before you try again.',
  )
}

/** The nonce of a transaction that this page sent; undefined if it did not. */
export function nonceOf(txHash: string | undefined): number | undefined {
  const found = localStorage.getItem(`nonce ${txHash?.toLowerCase()}`)
  return found === null ? undefined : Number(found)
}

/** The sentence for a person about a transaction that was not sent, or not found again. */
export function failureText(error: unknown): string {
  return error instanceof WalletError && error.isRejection
    ? 'You declined it in your wallet. Nothing was sent.'
    : (error as Error).message
}
