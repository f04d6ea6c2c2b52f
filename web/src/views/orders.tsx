// The page of orders: what they brought and cost, one row each, and what routers may still take.

import { now } from '../api'
import { bps, show } from '../amounts'
import { type Card, isDecided, rowsOf } from '../cards'
import { endOf, paidText } from '../ends'
import { ago, signed } from '../figures'
import { isOver, type Order } from '../stream'
import { kindWord } from '../words'
import { Allowances, type AllowanceProps } from './allowances'
import { chosen, type OrderProps, OrderView, Title, Twin } from './order'
import type { Known } from './parts'

interface Props extends Omit<OrderProps, 'card' | 'speedUp' | 'children'> {
  isLive: boolean
  /** All orders are shown. */
  isWhole: boolean
  older: (() => void) | undefined
  faster(order: Order): OrderProps['speedUp']
  allowances: AllowanceProps
}

export function OrdersPage(props: Props) {
  const { cards, tokens, isLive, isWhole, older } = props
  const all = cards.map(({ update }) => update.order)
  return (
    <div class="stack orders">
      <h1>Orders</h1>
      {!isLive && <p class="warn" role="status">Connecting to the service for live news…</p>}
      <Sum orders={all} isWhole={isWhole} />
      <section class="panel" aria-label="Orders">
        {!cards.length && <p class="hist">None yet.</p>}
        <ul class="hist">
          {rowsOf(cards).map((card) => (
            <li key={card.key}>
              <details open={!isDecided(card)}>
                <summary class="it" data-order={card.update.order.orderId} data-status={card.update.order.status} data-kind={card.update.order.kind}>
                  <Line card={card} tokens={tokens} all={all} />
                </summary>
                <OrderView {...props} card={card} speedUp={props.faster(card.update.order)} />
              </details>
            </li>
          ))}
        </ul>
      </section>
      {older && (
        <button class="btn middle" type="button" onClick={older}>
          Older orders
        </button>
      )}
      <Allowances {...props.allowances} />
    </div>
  )
}

const TAGS = { good: 'g', bad: 'b', warn: 'w', '': 'n' }

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** One row: what it was, where it stands, when. */
function Line({ card, tokens, all }: { card: Card; tokens: Known; all: readonly Order[] }) {
  const { order, finalized } = card.update
  const end = endOf(order, all)
  const told = order.delivered?.toPromiseBps
  const named = chosen(card, tokens)
  const parts = [...(card.wrap ? ['wrap'] : []), ...card.approvals.map(({ orderParams }) => (orderParams.amount === '0' ? 'reset' : 'approval')), kindWord(order).toLowerCase()]
  const steps = parts.length > 1 ? `. ${capital(parts.join(', '))}` : ''
  const state = !end ? (order.status === 'pending' ? 'Stored' : 'Sent privately') : end.name === 'done' ? `${finalized ? 'Final' : 'In a block'}${steps}` : `${end.heading}. Paid ${paidText(order, card.cancel)}`
  return (
    <>
      <Twin order={order} tokens={named} />
      <b><Title order={order} tokens={named} /></b>
      <span class="r">
        {!end ? (
          <span class="tag">In progress</span>
        ) : end.name === 'done' ? (
          order.kind === 'wrap' ? <span class="soft">1 to 1</span> : <span class="good strong">{told === undefined ? '✓' : signed(told)}</span>
        ) : (
          <span class={`tag ${TAGS[end.tone]}`}>{end.title.split(',')[0]}</span>
        )}
      </span>
      <small>{state}</small>
      <small class="r" title={order.createdAt}>
        <time dateTime={order.createdAt}>{ago(Date.parse(order.createdAt), now())}</time>
      </small>
    </>
  )
}

const Stat = ({ name, value, note, isGood = false }: { name: string; value: string; note: string; isGood?: boolean }) => (
  <div class="stat">
    <small>{name}</small>
    <b class={isGood ? 'good' : ''}>{value}</b>
    <small>{note}</small>
  </div>
)

/** What the confirmed swaps of the page have brought and cost. */
function Sum({ orders, isWhole }: { orders: readonly Order[]; isWhole: boolean }) {
  const swaps = orders.filter(({ kind, status }) => kind === 'swap' && status === 'confirmed')
  const told = swaps.flatMap(({ delivered }) => delivered?.toPromiseBps ?? [])
  if (swaps.length < 2 || !told.length) return null
  const average = Math.round(told.reduce((sum, value) => sum + value, 0) / told.length)
  const paid = swaps.reduce((sum, { feePaidWei }) => sum + BigInt(feePaidWei ?? 0), 0n)
  const refunded = swaps.reduce((sum, { refund }) => sum + (refund?.status === 'paid' ? BigInt(refund.amountWei) : 0n), 0n)
  const pools = againstPools(swaps)
  return (
    <div class="stats sum">
      <Stat name="Swaps confirmed" value={`${swaps.length}`} note={isWhole ? 'all of them' : 'Older swaps are not in this sum.'} />
      <Stat name="Against their quotes" value={signed(average)} note="on average" isGood={average >= 0} />
      {pools && <Stat name="Against the pools" value={signed(pools.bps)} note={`${pools.count} of ${swaps.length}, before fees`} />}
      <Stat name="Network fees" value={`${show(paid, 18, 6)} ETH`} note={`${show(refunded, 18, 6)} ETH refunded`} />
    </div>
  )
}

/** What swaps brought against the pools' prices at their blocks, weighted by their worth in ETH. */
function againstPools(swaps: readonly Order[]): { bps: number; count: number } | undefined {
  let [sold, brought, count] = [0n, 0n, 0]
  for (const { reference, received } of swaps) {
    if (!reference || !received?.amount || reference.amount === '0') continue
    const value = BigInt(reference.valueWei)
    sold += value
    brought += (value * BigInt(received.amount)) / BigInt(reference.amount)
    count++
  }
  return count ? { bps: bps(brought, sold), count } : undefined
}

export const inProgress = (cards: readonly Card[]): number => cards.filter(({ update: { order } }) => !isOver(order)).length
