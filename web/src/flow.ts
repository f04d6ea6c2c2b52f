// ETH as what is sold or bought: what is left of two transactions, over reloads.

import { useEffect, useRef, useState } from 'preact/hooks'
import { WETH } from './account'
import { parse } from './amounts'
import type { Connection } from './connection'
import { type ApiError, get } from './api'
import { remember, remembered } from './remembered'
import { type Card, cardOf } from './cards'
import { isOver, type Order, type Orders } from './stream'
import type { Trade } from './trade/machine'

/** A swap with ETH of which the wallet was asked for the first transaction. */
export interface Flow {
  /** Lower case. */
  address: string
  /** The wrap before the swap, or the swap before the unwrap. */
  first: 'wrap' | 'swap'
  /** The first transaction's order; '' as long as the wallet has not answered. */
  orderId: string
  sell: string
  /** What is swapped after a wrap. */
  buy: string
  /** As typed. */
  amount: string
  /** The amount in smallest units. */
  units: string
  /** When the newest order before it was created, by the service's clock; '' without one. */
  after: string
}

const NAME = 'native'

/** Whether it ended and changed nothing. */
const hasFailed = (order: Pick<Order, 'status'>): boolean => isOver(order) && order.status !== 'confirmed'

/** The flow that the browser remembers for an account; undefined without one. */
function rememberedFlow(address: string | undefined): Flow | undefined {
  try {
    const flow = JSON.parse(remembered(NAME)) as Partial<Record<keyof Flow, unknown>>
    const { first, orderId, sell, buy, amount, units, after } = flow
    const isText = [orderId, sell, buy, amount, units, after].every((text) => typeof text === 'string')
    const isMine = address !== undefined && flow.address === address.toLowerCase()
    return isMine && isText && (first === 'wrap' || first === 'swap') ? (flow as Flow) : undefined
  } catch {
    return undefined
  }
}

/** Whether an order can be the first transaction of a flow for which the wallet was asked. */
const isFirst = (flow: Flow, { kind, createdAt, orderParams: of }: Order): boolean =>
  kind === flow.first &&
  createdAt > flow.after &&
  of.toToken === WETH &&
  // a wallet may wrap another amount than it was asked for: it is wrapped all the same
  (flow.first === 'wrap' || (of.amount === flow.units && of.fromToken === flow.sell))

/** The flow of an account, over reloads, and the order of its first transaction. */
export function useFlow(
  address: string | undefined,
  cards: readonly Card[],
  placed: (order: Order) => void,
) {
  const [flow, setFlow] = useState<Flow>()
  const held = useRef<Flow>(undefined)
  const keep = (next: Flow | undefined): void => {
    held.current = next
    setFlow(next)
    asks(undefined)
  }
  /** Remembers what the wallet is asked for: a reload takes the page away, and not the request. */
  const asks = (next: Flow | undefined): void => {
    const kept = next ?? held.current
    remember(NAME, kept ? JSON.stringify(kept) : '')
  }
  useEffect(() => {
    held.current = rememberedFlow(address)
    setFlow(held.current)
  }, [address])
  const card = flow?.orderId ? cardOf(cards, flow.orderId) : undefined
  const order = flow?.orderId
    ? card?.update.order
    : cards.map(({ update }) => update.order).find((one) => flow && isFirst(flow, one))
  useEffect(() => {
    if (flow?.orderId === '' && order) keep({ ...flow, orderId: order.orderId })
  }, [order?.orderId])
  // One of the many that came later may have pushed it off the page of history.
  useEffect(() => {
    if (!flow?.orderId || order) return
    get<Order>(`/api/v1/mev/orders/${encodeURIComponent(flow.orderId)}`).then(
      placed,
      (error: ApiError) => error.status === 404 && keep(undefined),
    )
  }, [flow?.orderId])
  // Unwrapped elsewhere: in another tab, or by a question that a reload left open in the wallet.
  const isUnwrapped = cards.some(
    ({ update: { order: { kind, status, createdAt, orderParams } } }) =>
      flow !== undefined &&
      order?.status === 'confirmed' &&
      kind === 'wrap' &&
      orderParams.fromToken === WETH &&
      createdAt > order.createdAt &&
      (flow.first === 'swap'
        ? order.received?.amount === orderParams.amount && !hasFailed({ status })
        : status === 'confirmed' && BigInt(orderParams.amount) >= BigInt(order.orderParams.amount)),
  )
  useEffect(() => {
    if (isUnwrapped) keep(undefined)
  }, [isUnwrapped])
  useEffect(() => {
    if (order && hasFailed(order)) keep(undefined)
  }, [order?.status])
  return { flow, order, keep, asks }
}

/** What a wrap or a swap leaves to be done; undefined for nothing. */
export function flowOf(
  first: Flow['first'],
  orderId: string,
  trade: Trade,
  connection: Connection | undefined,
  orders: Orders,
): Flow | undefined {
  const { sell, buy, amount } = trade
  if (!connection || !sell || !buy || !(first === 'wrap' || buy.wrapped)) return undefined
  return {
    address: connection.address.toLowerCase(),
    first,
    orderId,
    sell: sell.address,
    buy: buy.address,
    amount,
    units: String(parse(amount, sell.decimals)),
    after: [...orders.values()].map(({ order }) => order.createdAt).sort().at(-1) ?? '',
  }
}
