// The ends of a swap told apart: what happened, what it means for the money, and what comes next.

import { show } from './amounts'
import { type Card, isMined } from './cards'
import { isOver, type Order } from './stream'
import { readable, SENTENCE, sentence } from './text'
import { usedBy } from './words'

export interface End {
  name: 'done' | 'failed' | 'cancelled' | 'expired' | 'not over' | 'replaced' | 'not sent'
  title: string
  tone: 'good' | 'bad' | 'warn' | ''
  heading: string
  text: string
  button: 'New swap' | 'Get a new quote' | 'Cancel swap'
}

/** The service's reason as a sentence. */
function reasonOf({ error }: Order): string {
  return sentence(error ? readable(error.message, SENTENCE) : 'it was not mined')
}

/** How an order ended; undefined while it has not. */
export function endOf(order: Order, orders: readonly Order[]): End | undefined {
  const { status, error, executableUntil } = order
  if (!isOver(order)) return undefined
  const text = reasonOf(order)
  if (status === 'confirmed') {
    return { name: 'done', title: 'You received', tone: 'good', heading: '', text: '', button: 'New swap' }
  }
  if (error?.mayBeMined) {
    const why = executableUntil ? 'Its router still executes it. ' : 'Its router has no deadline. '
    return {
      name: 'not over', title: error.code === 'EXPIRED' ? 'Expired, but not over' : 'Failed, but not over', tone: 'warn',
      heading: 'It may still be mined', text: `The service sends it no more. ${why}Cancel it to be sure.${error.code === 'EXPIRED' ? '' : ` (${text})`}`, button: 'Cancel swap',
    } // prettier-ignore
  }
  switch (error?.code) {
    case 'EXPIRED':
      return { name: 'expired', title: 'Expired, nothing was swapped', tone: '', heading: 'It can no longer be mined', text, button: 'Get a new quote' }
    case 'USER_CANCELLED':
      return { name: 'cancelled', title: 'Cancelled', tone: 'good', heading: 'The empty transaction came first', text: 'A block has it, so the swap can never happen.', button: 'New swap' }
    case 'REPLACED':
    case 'NONCE_CONSUMED':
      return { name: 'replaced', title: 'Cancelled', tone: 'warn', heading: 'Another transaction took its place', text: sentence(usedBy(order, orders) || text), button: 'Get a new quote' }
    case 'REVERTED':
      return { name: 'failed', title: 'Swap failed', tone: 'bad', heading: isMined(order) ? `Refused in block ${error.blockNumber}` : 'It failed', text: isMined(order) ? 'It changed nothing: your tokens are where they were. Its network fee is paid.' : text, button: 'Get a new quote' }
    default:
      return { name: 'not sent', title: 'Not sent', tone: 'bad', heading: 'The relay did not take it', text, button: 'Get a new quote' }
  } // prettier-ignore
}

/** What an end cost in ETH, the cancel included. */
export function paidText(order: Order, cancel: Order | undefined): string {
  const wei = feeOf(order) + (cancel ? feeOf(cancel) : 0n)
  if (wei === 0n && order.error?.code === 'USER_CANCELLED') return 'the network fee of the cancel'
  if (wei === 0n && order.error?.mayBeMined) return 'nothing yet'
  return wei === 0n ? 'nothing' : `${show(wei, 18, 6)} ETH`
}

/** What the steps before a swap cost, as in "with the wrap and the approval 0.000612 ETH"; '' without one. */
export function paidWithSteps({ update: { order }, approvals, wrap }: Card): string {
  const steps = [...(wrap ? [wrap] : []), ...approvals]
  const all = [order, ...steps].map(feeOf)
  if (!steps.length || all.includes(0n)) return ''
  const names = [wrap && 'the wrap', approvals.length > 0 && (approvals.length > 1 ? 'the approvals' : 'the approval')]
  return `with ${names.filter(Boolean).join(' and ')} ${show(all.reduce((sum, wei) => sum + wei, 0n), 18, 6)} ETH`
}

/** Wei that a block took for a transaction, also for one that failed. */
function feeOf({ error, feePaidWei }: Order): bigint {
  const reverted = error?.gasUsed && error.effectiveGasPrice ? BigInt(error.gasUsed) * BigInt(error.effectiveGasPrice) : 0n
  return BigInt(feePaidWei ?? reverted)
}
