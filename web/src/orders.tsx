// What became of the orders: live, in words, and with what arrived.

import { useEffect, useState } from 'preact/hooks'
import type { Inclusion, Session } from './api'
import { percent, show, shortened } from './amounts'
import type { Token } from './tokens'
import type { Update } from './stream'
import { duration, expected, KINDS, relayAnswered, seenBy, standing, TAKEN_BACK } from './words'

/** What a router with a deadline does. */
const ENDS = 'soon after that its router refuses it'

export interface Known {
  [address: string]: Token | undefined
}

interface Props {
  update: Update
  tokens: Known
  session: Session
  inclusion: Inclusion | null | undefined
  cancel(orderId: string, tell: (text: string) => void): void
  /** Signs it again with a higher fee; undefined where the page does not know its transaction. */
  speedUp: ((tell: (text: string) => void) => void) | undefined
}

const END = ['confirmed', 'failed', 'cancelled']

export function OrderCard({ update, tokens, session, inclusion, cancel, speedUp }: Props) {
  const { order, finalized, takenBack } = update
  const { fromToken: sellToken, toToken: buyToken, amount: sellAmount } = order.orderParams
  const { kind } = order
  const isOver = END.includes(order.status)
  const [fault, setFault] = useState('')
  return (
    <article class={`order ${order.status}`} data-order={order.orderId} data-status={order.status} data-kind={kind}>
      <h3>
        <time dateTime={order.createdAt}>{new Date(order.createdAt).toLocaleString()}</time>
        {KINDS[kind] ?? 'Order'}
        {kind === 'swap' && (
          <>
            {' '}
            <Amount amount={sellAmount} token={tokens[sellToken]} address={sellToken} /> for{' '}
            <Symbol token={tokens[buyToken]} address={buyToken} />
          </>
        )}
      </h3>
      <p>{standing(order, finalized)}</p>
      {order.relayAnswer !== undefined && <p class="note">{relayAnswered(order.relayAnswer)}</p>}
      {takenBack && !isOver && <p class="warn">{TAKEN_BACK}</p>}
      {(order.status === 'submitted' || order.status === 'mining') && (
        <p class="note">{seenBy(order)}</p>
      )}
      <dl>
        {!isOver && <Waiting order={order} inclusion={inclusion} />}
        <Received update={update} tokens={tokens} />
        {!isOver && kind === 'swap' && (
          <>
            <dt>At least</dt>
            <dd>
              <Amount
                amount={order.orderParams.minReturnAmount}
                token={tokens[buyToken]}
                address={buyToken}
              />
            </dd>
          </>
        )}
        {order.feePaidWei !== undefined && (
          <Fact name="Gas paid" text={`${show(order.feePaidWei, 18, 6)} ETH`} />
        )}
        {order.refund && order.refund.status !== 'none' && (
          <Fact
            name="Refund"
            text={`${show(order.refund.amountWei, 18, 6)} ETH${order.refund.status === 'paid' ? '' : ', as the relay says'}`}
          />
        )}
        {order.txHash !== undefined && (
          <>
            <dt>Transaction</dt>
            <dd>
              <Explorer base={session.explorerUrl} txHash={order.txHash} />
            </dd>
          </>
        )}
      </dl>
      {!isOver && kind === 'swap' && (
        <>
          {fault && (
            <p role="alert" class="fault">
              {fault}
            </p>
          )}
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
    </article>
  )
}

/** How long an open order has waited, how long others took, and when the service gives up. */
function Waiting({ order, inclusion }: { order: Update['order']; inclusion: Props['inclusion'] }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const stays = `after that it may still be mined, unless you cancel it${order.kind === 'swap' ? '' : ' in your wallet'}`
  const since = Date.parse(order.submittedAt ?? order.createdAt)
  const left = order.expiresAt === undefined ? undefined : (Date.parse(order.expiresAt) - now) / 1_000
  return (
    <>
      <Fact name="Waiting for" text={duration((now - since) / 1_000)} />
      <Fact name="Without a tip, to a block" text={expected(inclusion)} />
      {left !== undefined && (
        <Fact
          name="Sent again for"
          text={`${duration(left)}; ${order.executableUntil ? ENDS : stays}`}
        />
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
    <>
      <dt>Received</dt>
      <dd>
        <Amount amount={received.amount} token={tokens[received.token]} address={received.token} />
        {delivered &&
          ` (${signed(delivered.toMinimumBps)} against the minimum, ${signed(delivered.toPromiseBps)} against the quote)`}
      </dd>
    </>
  )
}

const signed = (value: number): string => (value >= 0 ? '+' : '') + percent(value)

/** What the confirmed swaps that the page shows have brought and cost. */
export function Sum({ orders }: { orders: Update[] }) {
  const swaps = orders.flatMap(({ order }) =>
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
    <p class="note">
      {swaps.length} swaps confirmed: on average {signed(average)} against their quotes,{' '}
      {show(paid, 18, 6)} ETH of gas, {show(refunded, 18, 6)} ETH refunded.
    </p>
  )
}

const Fact = ({ name, text }: { name: string; text: string }) => (
  <>
    <dt>{name}</dt>
    <dd>{text}</dd>
  </>
)

export function Amount(props: { amount: string | bigint; token: Token | undefined; address: string }) {
  const { amount, token, address } = props
  if (!token) return <span>{`${amount} units of ${shortened(address)}`}</span>
  return (
    <span>
      {show(amount, token.decimals, 6)} <bdi>{token.symbol}</bdi>
    </span>
  )
}

export const Symbol = ({ token, address }: { token: Token | undefined; address: string }) =>
  token ? <bdi>{token.symbol}</bdi> : <code>{shortened(address)}</code>
