// What a person does with an open order: cancel it, or send it again with a higher fee cap.

import { WETH } from './account'
import { post, type Schemas } from './api'
import type { Connection } from './connection'
import { assertPrivate } from './privacy'
import { type Order, orderOf, type Orders } from './stream'
import { alone, failureText, newestTime, raised, type Sent, sendPrivately, sentOf, sentSince, type Terms } from './submit'
import { cancelFaults } from '../../clients/typescript/src/params'
import { send, WalletError } from './wallet'

interface Context {
  connection: Connection | undefined
  orders: Orders
  placed(order: Order): void
  /** The status line, which the next event replaces. */
  say(text: string): void
}

/** Shows what must stay in sight. */
type Tell = (text: string) => void

/** Signs an empty transaction with the nonce of an order. */
export async function cancel({ connection, orders, placed, say }: Context, orderId: string, tell: Tell): Promise<void> {
  if (!connection) return
  tell('')
  try {
    const path = `/api/v1/mev/orders/${encodeURIComponent(orderId)}/cancel`
    const { transactionParams } = await post<Schemas['CancelQuoteResponse']>(path)
    const order = orders.get(orderId)?.order
    const nonce = sentOf(order?.txHash)?.nonce ?? order?.nonce
    const faults = cancelFaults(transactionParams, connection.address, nonce)
    if (faults.length) return tell(`The cancel has ${faults.join(', ')}. Nothing was sent.`)
    say('Confirm the cancel in your wallet: an empty transaction that takes the place of the swap.')
    const sent = await alone(() => sendCancel(connection, transactionParams))
    if (sent) placed(sent)
    say('The cancel is under way. Whichever of the two is mined first decides.')
  } catch (error) {
    say('')
    const isRejection = error instanceof WalletError && error.isRejection
    tell(isRejection ? 'You declined the cancel. The order goes on.' : failureText(error, connection.wallet.name))
  }
}

/** Lets the wallet sign a cancel, and returns its order; the orders decide whether one that it declined was sent. */
async function sendCancel(
  connection: Connection,
  tx: Schemas['CancelQuoteResponse']['transactionParams'],
): Promise<Order | undefined> {
  const after = await newestTime(connection.address, 'any')
  await assertPrivate(connection)
  let hash: string
  try {
    hash = await send(connection.wallet.provider, connection.address.toLowerCase(), tx)
  } catch (error) {
    if ((await sentSince(connection.address, after))?.kind !== 'cancel') throw error
    return undefined
  }
  return orderOf(connection.address, 'cancel', hash).catch(() => undefined)
}

/** Signs the same transaction with a higher fee cap, for a base fee above the cap. */
export async function speedUp({ connection, placed, say }: Context, order: Order, sent: Sent, tell: Tell): Promise<void> {
  if (!connection) return
  tell('')
  try {
    say('Confirm in your wallet: the same swap, with a higher limit of the network fee.')
    const next = { ...sent, maxFeePerGas: raised(sent.maxFeePerGas) }
    const { order: again, otherwise } = await sendPrivately(connection, next, termsOf(order, next), { isStill: () => true })
    placed(again)
    tell(otherwise)
    say('The swap is sent again, with a higher limit of the network fee. Only one of the two can be mined.')
  } catch (error) {
    say('')
    tell(failureText(error, connection.wallet.name))
  }
}

const termsOf = ({ orderParams: of }: Order, next: Sent): Terms => ({
  kind: 'swap',
  fromToken: of.fromToken,
  toToken: of.toToken,
  amount: of.amount,
  minReturnAmount: of.minReturnAmount,
  decimals: 0,
  symbol: of.fromToken === WETH ? 'wei of WETH' : 'units',
  feeCap: next.maxFeePerGas,
})
