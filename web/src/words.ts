// What the page says. Every text is shown as text, never as HTML.

import { LOSS_WORDS } from '../../clients/typescript/src/generated/rules'
import { percent } from './amounts'
import type { Inclusion, Schemas } from './api'
import type { Order } from './stream'
import { readable, SENTENCE } from './text'

export type Status = Schemas['OrderStatusResponse']['status']

/** One sentence about where an order stands. */
export function standing(order: Order, finalized: boolean, orders: readonly Order[] = []): string {
  switch (order.status) {
    case 'pending':
      return 'Stored. It is on its way to the private relay.'
    case 'submitted':
      return 'The private relay has it.'
    case 'mining':
      return 'Offered to block builders, not yet in a block.'
    case 'confirmed':
      return finalized
        ? `Final: block ${order.blockNumber ?? ''} cannot change any more.`
        : `Confirmed in block ${order.blockNumber ?? ''}, not final yet.`
    case 'cancelled':
      return `Cancelled: ${usedBy(order, orders) || reason(order)}`
    default:
      return `Failed: ${reason(order)}`
  }
}

/** Of a swap and unwrap in one transaction. */
export const REST_IS_WETH = 'What is above the minimum stays WETH'

const SEARCHERS: Record<string, string> = {
  shareAll: 'all searchers of the relay, without your signature',
  shareSafe: 'chosen searchers, without your signature',
  none: 'searchers as the relay decides, without your signature',
}

/** Which searchers see an order before a block has it, by the rules of its relay. */
export const searchers = (endpointType: string | undefined, shareMode: string | undefined): string =>
  endpointType === 'fullprivacy' ? 'no searcher' : (SEARCHERS[shareMode ?? 'none'] ?? 'searchers as the relay decides')

/** What is said of a swap that was sped up. */
export const sentAgain = (times: number, isMined: boolean): string =>
  `Sent ${times} times: ${isMined ? 'this one was mined' : 'only one of them can be mined'}.`

/** What an open order waits for, and what can be done about it; '' if nothing is before it. */
export function waitsFor({ nonce }: Order, before: readonly Order[]): string {
  const [first] = before
  if (!first) return ''
  const names = before.map((one) => `number ${one.nonce} (${kindWord(one).toLowerCase()})`)
  const where = first.kind === 'swap' && !first.error ? 'here' : 'in your wallet'
  return (
    `Blocks take the transactions of a wallet in the order of their numbers. This is number ${nonce}, and waits for ` +
    `${[...new Set(names)].join(', ')}. Speed up or cancel number ${first.nonce} ${where}, and the next one follows. ` +
    'Wallets call the number nonce.'
  )
}

/** The words of a relay, which are neither ours nor the service's. */
export const relayAnswered = (answer: string): string => `The relay's last answer: ${readable(answer, SENTENCE)}`

/** How long transactions without a tip took here; undefined without a record. */
export function expected(record: Inclusion | null | undefined): string {
  if (!record) return 'not known yet'
  const { orders, days, halfBlocks, mostBlocks, halfS, mostS } = record
  const within = (blocks: number, seconds: number): string => `${blocks} ${blocks === 1 ? 'block' : 'blocks'} (${seconds} s)`
  return `usually within ${within(halfBlocks, halfS)}, nine of ten within ${within(mostBlocks, mostS)}; ${orders} orders of ${days} days, no tip`
}

/** Seconds for people. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min`
}

/** The causes of a loss in words. */
export const lossText = ({ causes }: Schemas['LossJudgement']): string =>
  causes
    .map(({ cause, bps }) => (bps === null ? '' : `${percent(bps)} `) + (LOSS_WORDS[cause] ?? readable(cause, SENTENCE)))
    .join(', ')

const LOSS_MEANS: Readonly<Record<string, string>> = {
  price_impact: ' The pools move against a swap of this size: a smaller one loses less.',
  slippage: ' The price may fall by this much before the swap fails.',
  gas: ' The network fee is the same for a larger amount.',
}

/** What the largest cause of a loss means for a person; '' where its name says it. */
export const lossMeans = ({ causes: [first] }: Schemas['LossJudgement']): string => LOSS_MEANS[first?.cause ?? ''] ?? ''

/** What used the nonce of an order; '' where nothing did, or the reason says it. */
export function usedBy({ nonce, error }: Order, orders: readonly Order[]): string {
  const hash = /0x[0-9a-f]{64}/i.exec(error?.message ?? '')?.[0].toLowerCase()
  if (error?.code !== 'REPLACED' && error?.code !== 'NONCE_CONSUMED') return ''
  const isKnown = orders.some(({ txHash }) => hash !== undefined && txHash?.toLowerCase() === hash)
  const what = isKnown ? 'another of these orders' : 'a transaction that is not one of these orders'
  return `its number in your wallet (nonce ${nonce ?? 'not known'}) was used by ${what}${hash && !isKnown ? `: ${hash}` : ''}.`
}

const reason = ({ error }: Schemas['OrderStatusResponse']): string =>
  error ? readable(error.message, SENTENCE) : 'it was not mined.'

export const TAKEN_BACK =
  'Taken back: the chain replaced the block that held this order. It is open again, and followed.'

/** Why a source gave no usable route, where it gives no reason itself. */
export const OUTCOMES: Record<Schemas['SourceEntry']['outcome'], string> = {
  won: 'best',
  answered: 'answered',
  no_route: 'no route for this pair',
  token_unknown: 'does not know the token',
  rate_limited: 'its request limit is reached',
  refused: 'refused the request',
  bad_reply: 'its answer cannot be read',
  timed_out: 'answered too late',
  unavailable: 'not available',
  skipped: 'not asked',
  reverted: 'its route fails when simulated',
  short_delivery: 'delivers less than it promised',
  unverified: 'its route could not be simulated',
  unsafe: 'refused: it would not be safe to sign',
}

/** The result of a source in a quote: nothing is verified that was not simulated. */
export function outcome({ outcome, simulated }: Schemas['SourceEntry']): string {
  const isOffered = outcome === 'won' || outcome === 'answered'
  if (isOffered && simulated === null) return `${OUTCOMES[outcome]}, not simulated`
  return outcome === 'answered' ? 'verified' : (OUTCOMES[outcome] ?? outcome)
}

/** The placeholder that orders have for ETH. */
const ETHER = /^0xe{40}$/i

/** What an order does: one of kind wrap may be an unwrap. */
export const kindWord = ({ kind, orderParams }: Order): string =>
  kind === 'wrap' && !ETHER.test(orderParams.fromToken) ? 'Unwrap' : (KINDS[kind] ?? 'Order')

const KINDS: Record<string, string> = {
  swap: 'Swap',
  wrap: 'Wrap',
  cancel: 'Cancel',
  approval: 'Approval',
  transaction: 'Transaction',
}

/** What to know before a trade; a warning without a text here is shown as the service says it. */
export const WARNINGS: Record<string, string> = {
  unlisted: 'No token list of this service has it: check its address.',
  'symbol of a listed token': 'It has the symbol of a listed token and is another one.',
  'name of a listed token': 'It has the name of a listed token and is another one.',
  'listed decimals are wrong': 'Its list names other decimals than its contract.',
  'not a token on chain': 'Its address holds no token.',
  'not traded here': 'This service does not trade it.',
  'fee on transfer': 'It keeps a part of each transfer.',
  'transfer reverts': 'A plain transfer of it fails.',
  'pausable/blacklist': 'Its issuer can pause it or block wallets.',
}

/** Warnings of a token that is taken for another one. */
export const LOOK_ALIKE: readonly string[] = ['symbol of a listed token', 'name of a listed token']
