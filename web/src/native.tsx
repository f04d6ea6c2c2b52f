// ETH as what is sold or bought: a swap of WETH with a wrap before it, or an unwrap after it.

import { useEffect, useState } from 'preact/hooks'
import { WETH } from './account'
import { show } from './amounts'
import { type ApiError, get } from './api'
import type { Connection, Privacy } from './connect'
import { remember, remembered } from './remembered'
import type { Order, Orders } from './stream'
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

/** A swap with ETH of which the first transaction was sent. */
export interface Flow {
  /** Lower case. */
  address: string
  /** The wrap before the swap, or the swap before the unwrap. */
  first: 'wrap' | 'swap'
  orderId: string
  /** What is swapped after a wrap. */
  buy: string
  /** In ETH, as typed; of a wrap. */
  amount: string
}

const NAME = 'native'
const END = ['failed', 'cancelled']

/** The flow that the browser remembers for an account; undefined without one. */
function rememberedFlow(address: string | undefined): Flow | undefined {
  try {
    const flow = JSON.parse(remembered(NAME)) as Partial<Record<keyof Flow, unknown>>
    const { first, orderId, buy, amount } = flow
    const isText = [orderId, buy, amount].every((text) => typeof text === 'string')
    const isMine = address !== undefined && flow.address === address.toLowerCase()
    return isMine && isText && (first === 'wrap' || first === 'swap') ? (flow as Flow) : undefined
  } catch {
    return undefined
  }
}

/** The flow of an account, over reloads, and the order of its first transaction. */
export function useFlow(
  address: string | undefined,
  orders: Orders,
  placed: (order: Order) => void,
) {
  const [flow, setFlow] = useState<Flow>()
  const keep = (next: Flow | undefined): void => {
    remember(NAME, next ? JSON.stringify(next) : '')
    setFlow(next)
  }
  useEffect(() => setFlow(rememberedFlow(address)), [address])
  const order = flow && orders.get(flow.orderId)?.order
  // One of the many that came later may have pushed it off the page of history.
  useEffect(() => {
    if (!flow || order) return
    get<Order>(`/api/v1/mev/orders/${encodeURIComponent(flow.orderId)}`).then(
      placed,
      (error: ApiError) => error.status === 404 && keep(undefined),
    )
  }, [flow?.orderId])
  // Unwrapped elsewhere: in another tab, or by a question that a reload left open in the wallet.
  const isUnwrapped = [...orders.values()].some(
    ({ order: { kind, status, createdAt, orderParams } }) =>
      flow?.first === 'swap' &&
      order?.received?.amount === orderParams.amount &&
      kind === 'wrap' &&
      orderParams.fromToken === WETH &&
      createdAt > order.createdAt &&
      !END.includes(status),
  )
  useEffect(() => {
    if (isUnwrapped) keep(undefined)
  }, [isUnwrapped])
  useEffect(() => {
    if (order && END.includes(order.status)) keep(undefined)
  }, [order?.status])
  return { flow, order, keep }
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
