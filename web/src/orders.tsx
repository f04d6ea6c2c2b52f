// What became of the orders: live, in words, and with what arrived.

import type { Session } from './api'
import { percent, show, shortened } from './amounts'
import type { Token } from './tokens'
import type { Update } from './stream'
import { KINDS, kindOf, standing, TAKEN_BACK } from './words'

export interface Known {
  [address: string]: Token | undefined
}

interface Props {
  update: Update
  tokens: Known
  session: Session
  cancel?: ((orderId: string) => void) | undefined
}

const END = ['confirmed', 'failed', 'cancelled']

export function OrderCard({ update, tokens, session, cancel }: Props) {
  const { order, finalized, takenBack } = update
  const { fromToken: sellToken, toToken: buyToken, amount: sellAmount } = order.orderParams
  const kind = kindOf(order)
  const isOver = END.includes(order.status)
  return (
    <article class={`order ${order.status}`} data-order={order.orderId} data-status={order.status} data-kind={kind}>
      <h3>
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
      {takenBack && !isOver && <p class="warn">{TAKEN_BACK}</p>}
      <dl>
        <Received update={update} tokens={tokens} />
        {order.feePaidWei !== undefined && (
          <Fact name="Gas paid" text={`${show(order.feePaidWei, 18, 6)} ETH`} />
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
      {cancel && !isOver && kind === 'swap' && (
        <button type="button" onClick={() => cancel(order.orderId)}>
          Cancel order
        </button>
      )}
    </article>
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
  const more = delivered?.toMinimumBps
  return (
    <>
      <dt>Received</dt>
      <dd>
        <Amount amount={received.amount} token={tokens[received.token]} address={received.token} />
        {more !== undefined && ` (${more >= 0 ? '+' : ''}${percent(more)} against the minimum)`}
      </dd>
    </>
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
