// ETH as what is sold or bought: a swap of WETH with a wrap before it, or an unwrap after it.

import { useEffect, useRef, useState } from 'preact/hooks'
import { WETH } from './account'
import { show } from './amounts'
import { type ApiError, get } from './api'
import type { Connection, Privacy } from './connect'
import { remember, remembered } from './remembered'
import { type Card, cardOf } from './orders'
import { isOver, type Order } from './stream'
import type { Token } from './tokens'
import { WrapForm } from './wrap'

/** Stays in the wallet when all ETH is sold: wrap, approval and swap pay their gas in ETH. */
export const GAS_WEI = 10n ** 16n

/** ETH in a list of tokens; what is quoted and swapped is its `wrapped` token. */
export const etherOf = (weth: Token): Token => ({
  ...weth,
  symbol: 'ETH',
  name: 'Ether',
  warnings: [],
  wrapped: weth,
})

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
  of.amount === flow.units &&
  of.toToken === WETH &&
  (flow.first === 'wrap' || of.fromToken === flow.sell)

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
      flow?.first === 'swap' &&
      order?.received?.amount === orderParams.amount &&
      kind === 'wrap' &&
      orderParams.fromToken === WETH &&
      createdAt > order.createdAt &&
      !hasFailed({ status }),
  )
  useEffect(() => {
    if (isUnwrapped) keep(undefined)
  }, [isUnwrapped])
  useEffect(() => {
    if (order && hasFailed(order)) keep(undefined)
  }, [order?.status])
  return { flow, order, keep, asks }
}

interface Props {
  flow: Flow
  order: Order | undefined
  weth: Token
  connection: Connection
  privacy: Privacy
  say(text: string): void
  placed(order: Order): void
  lost(text: string): void
  /** Fills the form with the swap of what was wrapped; undefined if the form says it already. */
  swap: (() => void) | undefined
  leave(): void
}

/** Where a swap with ETH stands after its first transaction, and the unwrap of what arrived. */
export function Second(props: Props) {
  const { flow, order, weth, connection, privacy, say, placed, lost, leave } = props
  const isDone = order?.status === 'confirmed'
  const arrived = order?.received?.token === weth.address ? order.received.amount : null
  const unwraps = flow.first === 'swap' && isDone && arrived != null ? BigInt(arrived) : undefined
  if (!flow.orderId) return <Unanswered flow={flow} leave={leave} />
  return (
    <section aria-labelledby="second">
      <h2 id="second">{isDone ? 'Step 2 of 2' : 'Step 1 of 2 is under way'}</h2>
      {flow.first === 'wrap' && (
        <p>
          {isDone
            ? `You wrapped ${flow.amount} ETH for a swap. Swap the WETH now.`
            : `You wrap ${flow.amount} ETH for a swap. The swap follows when it is in a block.`}
        </p>
      )}
      {flow.first === 'swap' && unwraps === undefined && (
        <p>
          {isDone
            ? 'What arrived is not known: see your balance of WETH, and unwrap it in “Wrap and unwrap”.'
            : 'When the swap is in a block, unwrap here what arrived.'}
        </p>
      )}
      {unwraps !== undefined && (
        <>
          <p>The swap brought {show(unwraps, weth.decimals)} WETH. Unwrap it to have ETH.</p>
          <WrapForm
            connection={connection}
            privacy={privacy}
            operation="unwrap"
            amount={unwraps}
            say={say}
            placed={(sent) => {
              placed(sent)
              leave()
            }}
            lost={lost}
          />
        </>
      )}
      <p class="shares">
        {flow.first === 'wrap' && isDone && props.swap && (
          <button type="button" onClick={props.swap}>
            Fill in the swap
          </button>
        )}
        <button type="button" onClick={leave}>
          {isDone ? 'Keep the WETH' : 'Stop after this step'}
        </button>
      </p>
    </section>
  )
}

/** The page was reloaded while the wallet asked for the first transaction. */
const Unanswered = ({ flow, leave }: Pick<Props, 'flow' | 'leave'>) => (
  <section aria-labelledby="second">
    <h2 id="second">Step 1 of 2 was not answered</h2>
    <p>
      {flow.first === 'wrap'
        ? `Your wallet was asked to wrap ${flow.amount} ETH for a swap.`
        : 'Your wallet was asked for a swap that brings WETH, to be unwrapped to ETH.'}{' '}
      Look there: if you confirm, step 2 follows here. If it asks no more, start again.
    </p>
    <p class="shares">
      <button type="button" onClick={leave}>
        It asks no more
      </button>
    </p>
  </section>
)
