// What became of the orders: live, in words, and with what arrived.

import { useEffect, useState } from 'preact/hooks'
import { type Inclusion, now, type Session } from './api'
import { WETH } from './account'
import { bps, percent, show, shortened } from './amounts'
import { Allowed, Amount, Fact, Fault, type Known, Symbol } from './parts'
import { isOver, type Order, type Orders, type Update } from './stream'
import { duration, expected, KINDS, relayAnswered, seenBy, sentAgain, standing, TAKEN_BACK, waitsFor } from './words'

/** What a router with a deadline does. */
const ENDS = 'soon after that its router refuses it'
/** An order that ended longer ago begins as one line. */
const UNFOLDED_MS = 120_000

/** One swap, wrap or other step, with all transactions that were sent for it. */
export interface Card {
  key: string
  ids: string[]
  /** What became of it: the transaction that a block has, else the newest that is open. */
  update: Update
}

/** The orders as cards, newest first: a speed-up is the same swap again, with its nonce. */
export function cardsOf(orders: Orders): Card[] {
  const cards = new Map<string, Card>()
  const newest = [...orders.values()].sort((a, b) => (a.order.createdAt < b.order.createdAt ? 1 : -1))
  for (const update of newest) {
    const { orderId, kind, nonce, orderParams: of } = update.order
    const terms = [nonce, of.fromToken, of.toToken, of.amount, of.minReturnAmount].join()
    const key = kind === 'swap' && nonce !== undefined ? terms : orderId
    const known = cards.get(key)
    const isNews = !known || weight(update.order) > weight(known.update.order)
    cards.set(key, {
      key,
      ids: [...(known?.ids ?? []), orderId],
      update: isNews ? update : known.update,
    })
  }
  return [...cards.values()]
}

const weight = (order: Order): number => (isMined(order) ? 2 : isOver(order) ? 0 : 1)
const isMined = ({ status, error }: Order): boolean =>
  status === 'confirmed' || error?.blockNumber !== undefined

export const cardOf = (cards: readonly Card[], orderId: string): Card | undefined =>
  cards.find(({ ids }) => ids.includes(orderId))

/** The orders whose nonces come before that of an open order, and may still be unused. */
function before({ order }: Update, cards: readonly Card[]): Order[] {
  const { nonce } = order
  if (nonce === undefined || isOver(order)) return []
  const all = cards.map(({ update }) => update.order)
  const used = all.filter(isMined).map((one) => one.nonce)
  return all
    .filter((one) => one.nonce !== undefined && one.nonce < nonce && !used.includes(one.nonce))
    .filter((one) => !isOver(one) || one.error?.mayBeMined)
    .sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0))
}

interface Props {
  card: Card
  cards: readonly Card[]
  tokens: Known
  session: Session
  inclusion: Inclusion | null | undefined
  cancel(orderId: string, tell: (text: string) => void): void
  /** Signs it again with a higher fee; undefined where the page does not know its transaction. */
  speedUp: ((tell: (text: string) => void) => void) | undefined
}

export function OrderCard({ card, cards, tokens, session, inclusion, cancel, speedUp }: Props) {
  const { update, ids } = card
  const { order, finalized, takenBack } = update
  const { kind, orderParams: of } = order
  const isDone = isOver(order)
  const isDecided = isDone && !order.error?.mayBeMined
  const [isOpen, setOpen] = useState(() => !isDecided || now() - Date.parse(order.createdAt) < UNFOLDED_MS)
  const isUnfolded = isOpen || !isDone
  const time = new Date(order.createdAt)
  const waits = waitsFor(order, before(update, cards))
  const [fault, setFault] = useState<string>()
  return (
    <article class={`order ${order.status}`} data-order={order.orderId} data-status={order.status} data-kind={kind}>
      <details open={isUnfolded} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <h3>
            <span>
              <Title order={order} tokens={tokens} isShort={!isUnfolded} />
            </span>{' '}
            <time dateTime={order.createdAt}>
              {isUnfolded ? time.toLocaleString() : `${order.status === 'confirmed' ? '✓' : order.status} ${time.toLocaleDateString([], DAY)}`}
            </time>
          </h3>
        </summary>
        <p>{standing(order, finalized, cards.map(({ update }) => update.order))}</p>
        {order.relayAnswer !== undefined && <p class="note">{relayAnswered(order.relayAnswer)}</p>}
        {ids.length > 1 && <p class="note">{sentAgain(ids.length, isMined(order))}</p>}
        {waits && <p class="warn">{waits}</p>}
        {takenBack && !isDone && <p class="warn">{TAKEN_BACK}</p>}
        {(order.status === 'submitted' || order.status === 'mining') && (
          <p class="note">{seenBy(order)}</p>
        )}
        <dl>
          {!isDone && <Waiting order={order} inclusion={inclusion} />}
          {kind === 'swap' && <Received update={update} tokens={tokens} />}
          {order.status === 'confirmed' && kind === 'swap' && <Reference order={order} tokens={tokens} />}
          {!isDone && kind === 'swap' && (
            <Fact name="At least">
              <Amount amount={of.minReturnAmount} address={of.toToken} tokens={tokens} />
            </Fact>
          )}
          {order.feePaidWei !== undefined && (
            <Fact name="Gas paid">{show(order.feePaidWei, 18, 6)} ETH</Fact>
          )}
          {order.refund && order.refund.status !== 'none' && (
            <Fact name="Refund">
              {show(order.refund.amountWei, 18, 6)} ETH{order.refund.status === 'paid' ? '' : ', as the relay says'}
            </Fact>
          )}
          {order.txHash !== undefined && (
            <Fact name="Transaction">
              <Explorer base={session.explorerUrl} txHash={order.txHash} />
            </Fact>
          )}
        </dl>
        {!isDone && kind === 'swap' && (
          <>
            <Fault text={fault} />
            <button type="button" onClick={() => cancel(order.orderId, setFault)}>
              Cancel order
            </button>{' '}
            {speedUp && (
              <button type="button" onClick={() => speedUp(setFault)}>
                Speed up
              </button>
            )}
          </>
        )}
      </details>
    </article>
  )
}

const DAY = { day: 'numeric', month: 'short' } as const

/** What it does, and what a swap has brought, on one line of a phone. */
function Title(props: { order: Order; tokens: Known; isShort: boolean }) {
  const { order: { kind, orderParams: of, received }, tokens, isShort } = props
  if (kind === 'wrap') {
    return <>{of.toToken === WETH ? `Wrap ${show(of.amount, 18, 4)} ETH` : `Unwrap ${show(of.amount, 18, 4)} WETH`}</>
  }
  if (kind === 'approval') {
    return (
      <>
        Approval of <Allowed amount={of.amount} address={of.fromToken} tokens={tokens} />
      </>
    )
  }
  if (kind !== 'swap') return <>{KINDS[kind ?? ''] ?? 'Order'}</>
  const [bought, arrived] = [tokens[of.toToken], received?.amount]
  return (
    <>
      {!isShort && 'Swap '}
      <Amount amount={of.amount} address={of.fromToken} tokens={tokens} places={4} /> {isShort ? '→' : 'for'}{' '}
      {arrived != null && bought && arrived !== '0' && `${show(arrived, bought.decimals, arrived.length - bought.decimals > 3 ? 2 : 4)} `}
      <Symbol address={of.toToken} tokens={tokens} />
    </>
  )
}

/** How long an open order has waited, how long others took, and when the service gives up. */
function Waiting({ order, inclusion }: { order: Update['order']; inclusion: Props['inclusion'] }) {
  const [seen, setSeen] = useState(now)
  useEffect(() => {
    const timer = setInterval(() => setSeen(now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const stays = `after that it may still be mined, unless you cancel it${order.kind === 'swap' ? '' : ' in your wallet'}`
  const since = Date.parse(order.submittedAt ?? order.createdAt)
  const left = order.expiresAt === undefined ? undefined : (Date.parse(order.expiresAt) - seen) / 1_000
  return (
    <>
      <Fact name="Waiting for">{duration((seen - since) / 1_000)}</Fact>
      <Fact name="Without a tip, to a block">{expected(inclusion)}</Fact>
      {left !== undefined && (
        <Fact name="Sent again for">
          {duration(left)}; {order.executableUntil ? ENDS : stays}
        </Fact>
      )}
    </>
  )
}

/** A link to the block explorer, unless its address is none of the web. */
function Explorer({ base, txHash }: { base: string; txHash: string }) {
  if (!/^https?:\/\//.test(base)) return <code>{shortened(txHash)}</code>
  return (
    <a href={`${base}/tx/${encodeURIComponent(txHash)}`} rel="noreferrer" target="_blank">
      {shortened(txHash)}
    </a>
  )
}

function Received({ update, tokens }: { update: Update; tokens: Known }) {
  const { received, delivered } = update.order
  if (!received || typeof received.amount !== 'string') return null
  return (
    <Fact name="Received">
      <Amount amount={received.amount} address={received.token} tokens={tokens} />
      {delivered &&
        ` (${signed(delivered.toMinimumBps)} against the minimum, ${signed(delivered.toPromiseBps)} against the quote)`}
    </Fact>
  )
}

/** What the swap was worth by the pools, read when it was confirmed. */
function Reference({ order, tokens }: { order: Order; tokens: Known }) {
  const { reference, orderParams: of } = order
  if (!reference) return <Fact name="Against the pools">not read</Fact>
  return (
    <Fact name="Against the pools">
      {signed(reference.receivedBps)}: worth <Amount amount={reference.amount} address={of.toToken} tokens={tokens} />{' '}
      by their price at block {reference.blockNumber}, before fees
    </Fact>
  )
}

const signed = (value: number): string => (value >= 0 ? '+' : '') + percent(value)

/** What the confirmed swaps that the page shows have brought and cost; `isWhole`: it shows all. */
export function Sum({ cards, isWhole }: { cards: readonly Card[]; isWhole: boolean }) {
  const swaps = cards.flatMap(({ update: { order } }) =>
    order.kind === 'swap' && order.status === 'confirmed' ? order : [],
  )
  const known = swaps.flatMap(({ delivered }) => delivered?.toPromiseBps ?? [])
  if (swaps.length < 2 || !known.length) return null
  const average = Math.round(known.reduce((sum, bps) => sum + bps, 0) / known.length)
  const paid = swaps.reduce((sum, { feePaidWei }) => sum + BigInt(feePaidWei ?? 0), 0n)
  const refunded = swaps.reduce(
    (sum, { refund }) => sum + (refund?.status === 'paid' ? BigInt(refund.amountWei) : 0n),
    0n,
  )
  return (
    <p class="note sum">
      {swaps.length} swaps below are confirmed: on average {signed(average)} against their quotes,{' '}
      {show(paid, 18, 6)} ETH of gas, {show(refunded, 18, 6)} ETH refunded. {againstPools(swaps)}
      {!isWhole && ' Older swaps are not in this sum.'}
    </p>
  )
}

/** What swaps brought against the pools' prices at their blocks, in ETH; '' where none is known. */
function againstPools(swaps: readonly Order[]): string {
  let sold = 0n
  let brought = 0n
  const known = swaps.filter(({ reference, received }) => {
    if (!reference || !received?.amount) return false
    const value = BigInt(reference.valueWei)
    sold += value
    brought += (value * BigInt(received.amount)) / BigInt(reference.amount)
    return true
  })
  if (!known.length) return ''
  const [difference, word] = brought < sold ? [sold - brought, 'less'] : [brought - sold, 'more']
  const who = known.length === swaps.length ? 'They' : `${known.length} of them, the others were not read,`
  return (
    `${who} brought ${show(difference, 18, 6)} ETH ${word} than ${show(sold, 18, 6)} ETH, their worth by the ` +
    `pools' prices at their blocks (${signed(bps(brought, sold))}).`
  )
}
