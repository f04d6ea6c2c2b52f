// What is left of two transactions with ETH: told, and filled into the form with one click.

import { show } from '../amounts'
import type { Flow } from '../flow'
import type { Order } from '../stream'
import type { Token } from '../tokens'
import { Message } from './parts'

interface Props {
  flow: Flow
  order: Order | undefined
  weth: Token
  /** Fills the form with the swap of what was wrapped. */
  swap(): void
  /** Fills the form with the unwrap of what arrived, as typed. */
  unwrap(amount: string): void
  leave(): void
}

export function Second(props: Props) {
  const { flow, order, weth, leave } = props
  const isDone = order?.status === 'confirmed'
  const arrived = order?.received?.token === weth.address ? order.received.amount : undefined
  const amount = flow.first === 'swap' && isDone && arrived != null ? show(arrived, weth.decimals) : undefined
  if (!flow.orderId) return <Unanswered flow={flow} leave={leave} />
  return (
    <Message class="second" title={isDone ? 'Step 2 of 2' : 'Step 1 of 2 is under way'} icon="clock">
      <p>{textOf(flow, order, amount)}</p>
      <div class="row">
        {isDone && flow.first === 'wrap' && (
          <button class="btn fill" type="button" onClick={props.swap}>
            Fill in the swap
          </button>
        )}
        {amount !== undefined && (
          <button class="btn fill" type="button" onClick={() => props.unwrap(amount.replaceAll(',', ''))}>
            Unwrap {amount} WETH
          </button>
        )}
        <button class="btn" type="button" onClick={leave}>
          {isDone ? 'Keep the WETH' : 'Stop after this step'}
        </button>
      </div>
    </Message>
  )
}

function textOf(flow: Flow, order: Order | undefined, amount: string | undefined): string {
  const isDone = order?.status === 'confirmed'
  if (flow.first === 'wrap') {
    const isOther = order !== undefined && order.orderParams.amount !== flow.units
    if (isOther) {
      const wraps = `Your wallet ${isDone ? 'wrapped' : 'wraps'} ${show(order.orderParams.amount, 18)} ETH in place of ${flow.amount}.`
      return isDone ? `${wraps} Swap the WETH now, or as much of it as you want.` : wraps
    }
    return isDone
      ? `You wrapped ${flow.amount} ETH for a swap. Swap the WETH now.`
      : `You wrap ${flow.amount} ETH for a swap. The swap follows when it is in a block.`
  }
  if (amount !== undefined) return `The swap brought ${amount} WETH. Unwrap it to have ETH.`
  return isDone
    ? 'What arrived is not known: see your balance of WETH, and unwrap it by choosing WETH and ETH.'
    : 'When the swap is in a block, unwrap here what arrived.'
}

/** The page was reloaded while the wallet asked for the first transaction. */
const Unanswered = ({ flow, leave }: Pick<Props, 'flow' | 'leave'>) => (
  <Message class="second" tone="warn" title="Step 1 of 2 was not answered" icon="wallet">
    <p>
      {flow.first === 'wrap'
        ? `Your wallet was asked to wrap ${flow.amount} ETH for a swap.`
        : 'Your wallet was asked for a swap that brings WETH, to be unwrapped to ETH.'}{' '}
      Look there: if you confirm, step 2 follows here. If it asks no more, start again.
    </p>
    <div class="row">
      <button class="btn" type="button" onClick={leave}>
        It asks no more
      </button>
    </div>
  </Message>
)
