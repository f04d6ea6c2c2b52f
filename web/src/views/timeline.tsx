// The steps of an order with their times: done, now, to come, failed.

import type { ComponentChildren } from 'preact'
import type { Inclusion } from '../api'
import { show } from '../amounts'
import { type Card, isMined } from '../cards'
import { endOf } from '../ends'
import { clock } from '../figures'
import { isOver, isUnsent, type Order } from '../stream'
import { duration, TAKEN_BACK } from '../words'
import { Icon } from './icons'
import { Allowed, type Known, useNow } from './parts'
import { LowRuler } from './rulers'

interface StepProps {
  is: 'done' | 'now' | 'todo' | 'fail'
  title: ComponentChildren
  time?: ComponentChildren
  children?: ComponentChildren
}

const Step = ({ is, title, time, children }: StepProps) => (
  <li class={is}>
    <span class="dot">{is === 'done' ? <Icon name="tick" small /> : is === 'fail' ? <Icon name="close" small /> : null}</span>
    <span>{title}</span>
    <time>{time}</time>
    {children}
  </li>
)

interface Props {
  card: Card
  orders: readonly Order[]
  tokens: Known
  inclusion: Inclusion | null | undefined
}

export function Timeline({ card, orders, tokens, inclusion }: Props) {
  const seen = useNow()
  const { order, finalized, takenBack } = card.update
  const isSent = order.status !== 'pending' && !isUnsent(order)
  return (
    <ol class="line">
      {card.wrap && <Step is="done" title={`Wrapped ${show(card.wrap.orderParams.amount, 18)} ETH`} time={clock(card.wrap.confirmedAt ?? card.wrap.createdAt, seen)} />}
      {card.approvals.map((approval) => (
        <Approved key={approval.orderId} approval={approval} tokens={tokens} seen={seen} />
      ))}
      <Step is={isSent || isOver(order) ? 'done' : 'now'} title={isSent ? 'Sent privately' : 'Stored'} time={clock(order.submittedAt ?? order.createdAt, seen)}>
        {!isOver(order) && <small>{isSent ? 'The private relay has it. Not in the public mempool.' : 'On its way to the private relay.'}</small>}
      </Step>
      {card.cancel && !isOver(order) && (
        <Step is="now" title="Cancelling" time={duration((seen - Date.parse(card.cancel.createdAt)) / 1_000)}>
          <small>The swap may still come first.</small>
        </Step>
      )}
      {takenBack && !isOver(order) && (
        <Step is="fail" title="Block taken back">
          <small>{TAKEN_BACK}</small>
        </Step>
      )}
      {isSent && !isOver(order) && <Waiting order={order} seen={seen} inclusion={inclusion} />}
      {isMined(order) && <Mined order={order} seen={seen} />}
      {isOver(order) && !isMined(order) && <Ending order={order} orders={orders} />}
      <Final order={order} finalized={finalized} seen={seen} />
    </ol>
  )
}

/** What ended it without a block: a cancel that the person signed is no failure. */
function Ending({ order, orders }: Pick<Props, 'orders'> & { order: Order }) {
  const end = endOf(order, orders)
  return <Step is={end?.name === 'cancelled' ? 'done' : 'fail'} title={end?.title ?? ''} />
}

const Approved = ({ approval, tokens, seen }: { approval: Order; tokens: Known; seen: number }) => {
  const { orderParams: of, status, confirmedAt, createdAt } = approval
  const isDone = status === 'confirmed'
  return (
    <Step
      is={isDone ? 'done' : isOver(approval) ? 'fail' : 'now'}
      title={
        of.amount === '0' ? (
          'Old allowance reset'
        ) : (
          <>
            {isDone ? 'Approved exactly ' : 'Approval of exactly '}
            <Allowed amount={of.amount} address={of.fromToken} tokens={tokens} as="exact" />
          </>
        )
      }
      time={clock(confirmedAt ?? createdAt, seen)}
    />
  )
}

/** How long it has waited, beside how long others took. */
function Waiting({ order, seen, inclusion }: { order: Order; seen: number; inclusion: Props['inclusion'] }) {
  const waited = Math.max(0, (seen - Date.parse(order.submittedAt ?? order.createdAt)) / 1_000)
  return (
    <Step is="now" title="Waiting for a block" time={duration(waited)}>
      {inclusion ? (
        <>
          <LowRuler waited={waited} inclusion={inclusion} />
          <small>
            As {inclusion.orders} {inclusion.orders === 1 ? 'order' : 'orders'} of the last {inclusion.days} days, without a tip.
          </small>
        </>
      ) : (
        <small>Time to a block: not known yet.</small>
      )}
    </Step>
  )
}

function Mined({ order, seen }: { order: Order; seen: number }) {
  const isDone = order.status === 'confirmed'
  const after = (Date.parse(order.confirmedAt ?? '') - Date.parse(order.submittedAt ?? order.createdAt)) / 1_000
  return (
    <Step
      is={isDone ? 'done' : 'fail'}
      title={`${isDone ? 'In' : 'Failed in'} block ${show(BigInt(order.blockNumber ?? order.error?.blockNumber ?? 0), 0)}`}
      time={order.confirmedAt && clock(order.confirmedAt, seen)}
    >
      {after > 0 && <small>after {duration(after)}</small>}
    </Step>
  )
}

/** Nobody tells when: the chain's own word ends it. */
function Final({ order, finalized, seen }: { order: Order; finalized: boolean; seen: number }) {
  if (finalized && isMined(order)) return <Step is="done" title="Final" />
  if (isOver(order) && !isMined(order)) return null
  return isMined(order) ? (
    <Step is="now" title="Becomes final" time={order.confirmedAt && duration((seen - Date.parse(order.confirmedAt)) / 1_000)}>
      <small>Until then the chain may still replace its block.</small>
    </Step>
  ) : (
    <Step is="todo" title="Final">
      <small>After that no reorganisation can undo it.</small>
    </Step>
  )
}
