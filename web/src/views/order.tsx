// One order as it goes: its steps, what arrived, how it ended, and what can be done about it.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Inclusion, Schemas, Session } from '../api'
import { WETH } from '../account'
import { show } from '../amounts'
import { before, type Card, isCancelling, isMined, isPaidInEther } from '../cards'
import { type End, endOf, paidText, paidWithSteps } from '../ends'
import { difference, figure, signed } from '../figures'
import { isOver, type Order } from '../stream'
import { etherOf } from '../tokens'
import { duration, kindWord, relayAnswered, searchers, sentAgain, waitsFor } from '../words'
import { Icon, Picture } from './icons'
import { Amount, Explorer, Fact, Fault, type Known, Message, Symbol, useNow } from './parts'
import { Ruler } from './rulers'
import { Timeline } from './timeline'

export interface OrderProps {
  card: Card
  cards: readonly Card[]
  tokens: Known
  session: Session
  inclusion: Inclusion | null | undefined
  holdings: Array<Schemas['TokenBalance']>
  cancel(orderId: string, tell: (text: string) => void): Promise<void>
  /** Signs it again with a higher fee; undefined where the page does not know its transaction. */
  speedUp: ((tell: (text: string) => void) => Promise<void>) | undefined
  /** Back to the form; `again`: with what this order was for. */
  leave(again: boolean): void
  children?: ComponentChildren
}

const allOrders = (cards: readonly Card[]): Order[] => cards.map(({ update }) => update.order)

export function OrderView(props: OrderProps) {
  const { card, cards } = props
  const { order } = card.update
  const end = endOf(order, allOrders(cards))
  return (
    <div class="cols">
      <div class="stack">
        <article class="panel order" aria-label="Order" data-order={order.orderId} data-status={order.status} data-kind={order.kind}>
          {end ? <Ended {...props} end={end} /> : <Open {...props} />}
        </article>
        {props.children}
        {!end && (
          <button class="btn quiet" type="button" onClick={() => props.leave(false)}>
            New swap
          </button>
        )}
      </div>
      <div class="aside">{end ? <Happened {...props} /> : <IfNot order={order} />}</div>
    </div>
  )
}

/** The tokens as the person chose them: WETH reads as ETH where ETH was paid. */
export const chosen = (card: Card, tokens: Known): Known => (isPaidInEther(card) ? inEther(tokens) : tokens)

function inEther(tokens: Known): Known {
  const weth = tokens[WETH]
  return weth ? { ...tokens, [WETH]: etherOf(weth) } : tokens
}

/** What a swap brought: the part that its transaction unwrapped is ETH, the rest WETH. */
function Brought({ order: { received, orderParams: of }, tokens, as = 'figure' }: { order: Order; tokens: Known; as?: 'figure' | 'list' }) {
  const { amount, unwrapped } = received ?? {}
  const rest = String(BigInt(amount ?? 0) - BigInt(unwrapped ?? 0))
  const isAll = unwrapped === undefined
  return (
    <>
      {!isAll && <span class="keep">{figure(unwrapped, 18)} ETH</span>}
      {!isAll && rest !== '0' && ' and '}
      {(isAll || rest !== '0') && <Amount amount={rest} address={received?.token ?? of.toToken} {...{ tokens, as }} />}
    </>
  )
}

/** As in "1.5 WETH → USDC". */
export function Title({ order, tokens }: { order: Order; tokens: Known }) {
  const { kind, orderParams: of, received } = order
  if (kind === 'wrap') {
    const name = kindWord(order)
    return <>{`${name}${order.status === 'confirmed' ? 'ped' : ''} ${figure(of.amount, 18)} ${name === 'Wrap' ? 'ETH' : 'WETH'}`}</>
  }
  if (kind === 'approval') {
    return (
      <>
        {of.amount === '0' ? 'Allowance ended: ' : 'Approval of '}
        {of.amount === '0' ? <Symbol address={of.fromToken} tokens={tokens} /> : <Amount amount={of.amount} address={of.fromToken} tokens={tokens} />}
      </>
    )
  }
  if (kind !== 'swap') return <>{kindWord(order)}</>
  const hasArrived = received?.amount != null && received.amount !== '0'
  return (
    <>
      <Amount amount={of.amount} address={of.fromToken} tokens={tokens} as="list" /> →{' '}
      {hasArrived ? <Brought {...{ order, tokens }} as="list" /> : order.conversion === 'unwrap' ? 'ETH' : <Symbol address={of.toToken} tokens={tokens} />}
    </>
  )
}

export function Twin({ order, tokens }: { order: Order; tokens: Known }) {
  const { fromToken, toToken } = order.orderParams
  const weth = tokens[WETH]
  const [sold, bought] = [tokens[fromToken], tokens[toToken]]
  const isWrap = order.kind === 'wrap' && weth !== undefined
  const pair = isWrap ? (toToken === WETH ? [etherOf(weth), weth] : [weth, etherOf(weth)]) : [sold, sold === bought ? undefined : bought]
  const both = pair.flatMap((token) => token ?? [])
  return (
    <span class="twin">
      {both.map((token) => (
        <Picture key={token.symbol} token={token} />
      ))}
    </span>
  )
}

const AtLeast = ({ order, tokens }: { order: Order; tokens: Known }) =>
  order.kind === 'swap' ? (
    <>
      At least <Amount amount={order.orderParams.minReturnAmount} address={order.orderParams.toToken} tokens={order.conversion === 'unwrap' ? inEther(tokens) : tokens} />, or it fails
    </>
  ) : (
    <>{kindWord(order)}</>
  )

/** An order that no block has decided. */
function Open(props: OrderProps) {
  const { card, cards, tokens, inclusion, cancel, speedUp } = props
  const { order } = card.update
  const named = chosen(card, tokens)
  const [fault, setFault] = useState('')
  const [isAsking, setAsking] = useState(false)
  // until its order is read, too: a second request would be refused, and the end of the first one removes what it says
  const ask = (request: (tell: (text: string) => void) => Promise<void>) => {
    if (isAsking) return
    setAsking(true)
    void request(setFault).finally(() => setAsking(false))
  }
  const waits = waitsFor(order, before(card.update, cards))
  return (
    <>
      <div class="head">
        <Twin order={order} tokens={named} />
        <div>
          <h2><Title order={order} tokens={named} /></h2>
          <p class="small soft"><AtLeast order={order} tokens={tokens} /></p>
        </div>
      </div>
      <Timeline card={card} orders={allOrders(cards)} tokens={tokens} inclusion={inclusion} />
      {card.ids.length > 1 && <p class="small soft">{sentAgain(card.ids.length, isMined(order))}</p>}
      {order.relayAnswer !== undefined && <p class="small soft">{relayAnswered(order.relayAnswer)}</p>}
      {waits && <Message tone="warn" title="It waits for another one"><p>{waits}</p></Message>}
      <Fault text={fault} />
      {order.kind === 'swap' && !isCancelling(card) && (
        <>
          <div class="pair">
            {speedUp && (
              <button class="btn" type="button" aria-disabled={isAsking} onClick={() => ask(speedUp)}>
                Speed up
              </button>
            )}
            <button class="btn danger" type="button" aria-disabled={isAsking} onClick={() => ask((tell) => cancel(order.orderId, tell))}>
              Cancel swap
            </button>
          </div>
          <p class="tiny soft">Cancel signs an empty transaction in its place, and costs its network fee. Until a block has one of the two, the swap may still happen.</p>
        </>
      )}
    </>
  )
}

/** What happens without a block, and who can see it meanwhile. */
export function IfNot({ order }: { order: Order }) {
  const seen = useNow()
  const left = order.expiresAt === undefined ? undefined : (Date.parse(order.expiresAt) - seen) / 1_000
  const stays = `it may still be mined, unless you cancel it${order.kind === 'swap' ? '' : ' in your wallet'}`
  return (
    <>
      <section class="side" aria-label="If no block takes it">
        <h2><span>If no block takes it</span></h2>
        <dl class="facts">
          {left !== undefined && <Fact name="Sent again for">{duration(left)}</Fact>}
          <Fact name="Then">{order.executableUntil ? `the router refuses it after ${new Date(order.executableUntil).toLocaleTimeString('en-GB').slice(0, 5)}` : stays}</Fact>
          <Fact name="It then costs">nothing</Fact>
        </dl>
      </section>
      <section class="side" aria-label="Who can see it now">
        <h2><span>Who can see it now</span></h2>
        <dl class="facts">
          <Fact name="Relay">the private one of this service</Fact>
          <Fact name="Block builders">those of the relay</Fact>
          <Fact name="Searchers">{searchers(order.endpointType, order.shareMode)}</Fact>
          <Fact name="Public mempool"><span class="good">✓ no</span></Fact>
        </dl>
      </section>
    </>
  )
}

interface EndedProps extends OrderProps {
  end: End
}

const MEDALS = { good: '', bad: 'x', warn: 'w', '': 'n' }
const ICONS = { done: 'tick', cancelled: 'tick', failed: 'close' } as const

/** The picture of an end: green is for what arrived alone. */
const Medal = ({ end: { name, tone } }: { end: End }) => (
  <span class={`medal ${name === 'cancelled' ? 'n' : MEDALS[tone]}`}>
    <Icon name={name in ICONS ? ICONS[name as keyof typeof ICONS] : 'clock'} />
  </span>
)

function Ended(props: EndedProps) {
  const { card, tokens, end, session, cancel, leave } = props
  const { order, finalized } = card.update
  const named = chosen(card, tokens)
  const [fault, setFault] = useState('')
  const isOpenStill = end.name === 'not over'
  return (
    <>
      <div class="got" role="status">
        <Medal end={end} />
        {end.name === 'done' ? <Got card={card} tokens={named} /> : <p class="big end-title">{end.title}</p>}
        <p class="soft">{end.name === 'done' ? `Confirmed in block ${order.blockNumber ?? ''}${finalized ? ', final' : ''}` : <Title order={order} tokens={named} />}</p>
      </div>
      {end.heading && (
        <Message tone={end.tone} icon={end.tone === 'bad' || end.tone === 'warn' ? 'danger' : end.name === 'cancelled' ? 'tick' : 'info'} title={end.heading}>
          <p>{end.text}</p>
        </Message>
      )}
      {end.name === 'done' && order.kind === 'swap' && <Compared order={order} tokens={tokens} />}
      <dl class="facts">
        {end.name !== 'done' && <Fact name="You paid">{paidText(order, card.cancel)}</Fact>}
        {order.refund && order.refund.status !== 'none' && (
          <Fact name="Refund">{show(order.refund.amountWei, 18, 6)} ETH{order.refund.status === 'paid' ? '' : ', as the relay says'}</Fact>
        )}
        {end.name !== 'done' && !isOpenStill && order.kind === 'swap' && (
          <Fact name="Your tokens"><Amount amount={order.orderParams.amount} address={order.orderParams.fromToken} tokens={order.conversion ? named : tokens} />, in your wallet</Fact>
        )}
        {isOpenStill && order.nonce !== undefined && <Fact name="Its number in your wallet" more="wallets call it nonce">{order.nonce}</Fact>}
        {end.name !== 'done' && order.txHash !== undefined && <Fact name="Transaction"><Explorer base={session.explorerUrl} txHash={order.txHash} /></Fact>}
      </dl>
      {card.ids.length > 1 && <p class="small soft">{sentAgain(card.ids.length, isMined(order))}</p>}
      <Fault text={fault} />
      <div class="stack s">
        {isOpenStill && isCancelling(card) ? (
          <p class="soft">A cancel is under way.</p>
        ) : (
          <button class="go" type="button" onClick={() => (isOpenStill ? cancel(order.orderId, setFault) : leave(end.button === 'Get a new quote'))}>
            {end.button}
          </button>
        )}
        {end.name === 'done' && order.txHash !== undefined && (
          <Explorer class="btn quiet" base={session.explorerUrl} txHash={order.txHash}>
            View transaction <Icon name="out" small />
          </Explorer>
        )}
        {isOpenStill && (
          <button class="btn quiet" type="button" onClick={() => leave(false)}>
            Leave it, and make a new swap
          </button>
        )}
      </div>
    </>
  )
}

function Got({ card, tokens }: Pick<OrderProps, 'card' | 'tokens'>) {
  const { order } = card.update
  const { kind, received, orderParams: of } = order
  if (kind !== 'swap') return <p class="big end-title"><Title order={order} tokens={tokens} /></p>
  if (!received || typeof received.amount !== 'string') {
    return <p class="big end-title">Swapped; what arrived is not known yet</p>
  }
  return (
    <>
      <p class="soft">You received</p>
      <p class="big"><Brought {...{ order, tokens }} /></p>
      <p class="soft">for <Amount amount={of.amount} address={of.fromToken} tokens={tokens} />{isPaidInEther(card) && ', wrapped first'}</p>
    </>
  )
}

/** What arrived, against what was promised. */
function Compared({ order, tokens }: { order: Order; tokens: Known }) {
  const { received, delivered, reference, orderParams: of } = order
  const token = tokens[of.toToken]
  if (!token || !received?.amount) return null
  const units = BigInt(received.amount)
  const against = (amount: string): string => difference(units - BigInt(amount), token.decimals)
  return (
    <>
      <Ruler minimum={BigInt(of.minReturnAmount)} received={units} pools={reference ? BigInt(reference.amount) : undefined} decimals={token.decimals} />
      <table class="compare">
        <caption class="vh">What arrived, compared in {token.symbol}</caption>
        <tbody>
          {delivered && <Row name="Against the minimum" bps={delivered.toMinimumBps} more={against(of.minReturnAmount)} isGood />}
          {delivered && <Row name="Against the quote" bps={delivered.toPromiseBps} />}
          {reference ? <Row name="Against the pools’ price, before fees" bps={reference.receivedBps} more={against(reference.amount)} /> : <tr><th scope="row">Against the pools’ price</th><td colSpan={2}>not read</td></tr>}
        </tbody>
      </table>
    </>
  )
}

const Row = ({ name, bps, more, isGood = false }: { name: string; bps: number; more?: string; isGood?: boolean }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{more}</td>
    <td class={isGood && bps >= 0 ? 'good' : ''}>{signed(bps)}</td>
  </tr>
)

function Happened({ card, cards, tokens, inclusion, holdings }: OrderProps) {
  const { order } = card.update
  const sold = holdings.filter(({ address }) => address === order.orderParams.fromToken)
  const left = sold.flatMap(({ allowances }) => allowances.filter(({ allowance }) => allowance != null && allowance !== '0'))
  return (
    <>
      <section class="side" aria-label="What happened">
        <h2><span>What happened</span></h2>
        <Timeline card={card} orders={allOrders(cards)} tokens={tokens} inclusion={inclusion} />
      </section>
      <section class="side" aria-label="What it cost">
        <h2><span>What it cost</span></h2>
        <dl class="facts">
          <Fact name="Network fee" more={paidWithSteps(card)}>{paidText(order, card.cancel)}</Fact>
          <Fact name="Fee of quietswap">none</Fact>
          {isOver(order) && order.kind === 'swap' && (
            <Fact name="Allowance left">{left.length ? <a href="#orders">{left.length} left, see Orders</a> : sold.length ? 'none' : 'not read yet'}</Fact>
          )}
        </dl>
      </section>
    </>
  )
}
