// The one button of the card: the first row that applies says its words, and what a click does.

import type { Privacy } from '../privacy'
import { isConsented } from '../loss'
import { conversionOf, mostFees, lossOf, type Step, stepsOf, unitsOf } from './plan'
import type { Trade } from './machine'

/** What the page knows beside the form. */
export interface World {
  isConnected: boolean
  privacy: Privacy
  /** What works at the service; undefined: not read yet, null: it does not answer. */
  service: { node: boolean; relay: boolean } | null | undefined
  /** Smallest units of what is sold that the wallet has; undefined where it was not read. */
  balance: bigint | undefined
  /** Wei that the wallet has; undefined where it was not read. */
  ether: bigint | undefined
  /** The wallet does approve and swap in one. */
  canBatch: boolean
  /** It is being asked whether it does. */
  isAskedToBatch: boolean
  /** What became of an earlier question to the wallet is not known. */
  isHeld: boolean
  /** ETH is under way to WETH for a swap: it is wrapped once. */
  isWrapping: boolean
  /** Sources that will answer; 0 where it is not known. */
  sources: number
  wallet: string
}

export type Action = 'connect' | 'switch' | 'set up' | 'sell token' | 'buy token' | 'look' | 'sign' | 'review' | 'ask'

export interface Primary {
  words: string
  /** undefined: the button is off. */
  act?: Action
  isBusy?: boolean
}

interface Facts extends World {
  trade: Trade
  step: Step | undefined
  /** The number of this step, and of all. */
  place: readonly [number, number]
}

type Row = readonly [(facts: Facts) => boolean, (facts: Facts) => Primary]

const off = (words: string): Primary => ({ words })
const busy = (words: string): Primary => ({ words, isBusy: true })
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const isPrivate = ({ privacy }: Facts): boolean => privacy === 'private'
const isConversion = ({ trade }: Facts): boolean => conversionOf(trade) !== undefined
const symbolOf = ({ sell }: Trade): string => sell?.symbol ?? ''

/** Whether a known balance is less than what is typed. */
export function isShort(trade: Trade, balance: bigint | undefined): boolean {
  const units = unitsOf(trade)
  return typeof units === 'bigint' && balance !== undefined && balance < units
}

const lacks = ({ trade, balance }: Facts): boolean =>
  isShort(trade, balance) || (trade.quote?.issues.balance != null && !trade.sell?.wrapped)

/** Each step pays its fee in ETH, and none of it is what is sold. */
function lacksFees({ trade, ether, canBatch }: Facts): boolean {
  const units = unitsOf(trade)
  if (typeof units !== 'bigint' || ether === undefined) return false
  return ether < mostFees(trade, canBatch) + (trade.sell?.wrapped ? units : 0n)
}

/** No quote says whether the wallet has what is wrapped or unwrapped. */
const isUnread = (facts: Facts): boolean =>
  facts.balance === undefined && (isConversion(facts) || facts.trade.sell?.wrapped !== undefined)

const loss = ({ trade }: Facts) => {
  const judged = lossOf(trade)
  return judged && !isConsented(judged, trade.consent) ? judged : undefined
}

/** "Step 1 of 3: " where more than two transactions are signed. */
function stepWords({ step, place: [number, all], trade }: Facts): Primary {
  const label = step?.label ?? ''
  if (step?.name === 'batch' && all === 1) return { words: 'Review swap in one signature', act: 'review' }
  if (step?.name === 'swap' || step?.name === 'batch') return { words: 'Review swap', act: 'review' }
  const isNumbered = all > 2 && !conversionOf(trade)
  return { words: isNumbered ? `Step ${number} of ${all}: ${label}` : capital(label), act: 'sign' }
}

const checked = ({ trade, sources }: Facts): Primary => {
  const count = new Set(trade.routes.map(({ source }) => source)).size
  return busy(sources ? `Checking sources: ${count} of ${sources}` : `Checking sources: ${count} simulated`)
}

/** No quote follows by itself. */
const isStopped = ({ trade: { faultOf } }: Facts): boolean => faultOf === 'quote' || faultOf === 'stray'

/** From the first visit to the order; the first row that applies. */
export const ROWS: readonly Row[] = [
  [({ trade }) => trade.phase === 'signing', () => busy('Waiting for your signature…')],
  [({ trade }) => trade.phase === 'signed', () => busy('Signed. Waiting for the service to have it…')],
  [({ trade }) => trade.phase === 'waiting', ({ trade }) => busy(`${capital(trade.done.at(-1) ?? 'The step')}: waiting for a block…`)],
  [(facts) => !facts.isConnected, () => ({ words: 'Connect wallet', act: 'connect' })],
  [({ service, privacy }) => service === null || privacy === 'service away', () => busy('Waiting for the service…')],
  [({ privacy }) => privacy === 'other chain', () => ({ words: 'Switch to Ethereum', act: 'switch' })],
  [({ privacy }) => privacy === 'checking', () => busy('Asking your wallet which RPC URL it uses…')],
  [(facts) => !isPrivate(facts), () => ({ words: 'Set up private sending', act: 'set up' })],
  [({ service }) => service?.relay === false, () => busy('Waiting for the private relay…')],
  [({ service }) => service?.node === false, () => busy('Waiting for the Ethereum node…')],
  [({ isHeld }) => isHeld, () => off('Waiting for what your wallet was asked')],
  [({ trade }) => !trade.sell, () => ({ words: 'Choose a token', act: 'sell token' })],
  [({ trade }) => !trade.buy, () => ({ words: 'Choose a token', act: 'buy token' })],
  [({ trade }) => trade.sell?.address === trade.buy?.address && !conversionOf(trade), () => ({ words: 'Choose another token', act: 'buy token' })],
  [({ trade }) => typeof unitsOf(trade) === 'string', () => off('Enter an amount')],
  [lacks, ({ trade }) => off(`Not enough ${symbolOf(trade)}`)],
  [({ isWrapping, trade }) => isWrapping && trade.sell?.wrapped !== undefined && !conversionOf(trade), () => busy('Your ETH is being wrapped…')],
  [isUnread, () => busy('Reading your balance…')],
  [({ trade }) => trade.quote?.issues.gas != null, () => off('Not enough ETH for the fee')],
  [lacksFees, ({ place: [, all] }) => off(`Not enough ETH for the ${all > 1 ? 'fees of all steps' : 'fee'}`)],
  [(facts) => facts.trade.phase === 'quoting' || (facts.trade.isRenewing && !isConversion(facts)), checked],
  [(facts) => !isConversion(facts) && !facts.trade.quote && isStopped(facts), ({ trade }) => ({ words: trade.faultOf === 'stray' ? 'Get a new quote' : 'Try again', act: 'ask' })],
  [(facts) => !isConversion(facts) && !facts.trade.quote, checked],
  [({ trade }) => trade.isWorse, () => ({ words: 'Look at the new quote', act: 'look' })],
  [(facts) => loss(facts)?.level === 'confirm', () => off('Confirm the loss to go on')],
  [(facts) => loss(facts) !== undefined, () => off('Type the loss to go on')],
  [({ isAskedToBatch }) => isAskedToBatch, () => busy('Asking your wallet…')],
  [() => true, stepWords],
] // prettier-ignore

/** The button of the card. */
export function primaryOf(trade: Trade, world: World): Primary {
  const steps = stepsOf(trade, world.canBatch)
  const facts = { ...world, trade, step: steps[0], place: [trade.done.length + 1, trade.done.length + steps.length] as const }
  const row = ROWS.find(([applies]) => applies(facts))
  return row ? row[1](facts) : off('')
}

export type State =
  | 'first' | 'connected' | 'set-up' | 'down' | 'quoting' | 'approve' | 'reset' | 'eth' | 'ready' | 'worse' | 'guard'
  | 'review' | 'signing' | 'waiting' | 'order' | 'wrap' // prettier-ignore

/** The state of the card, for `main[data-state]`: the first row that applies. */
const STATES: ReadonlyArray<readonly [State, (facts: Facts) => boolean]> = [
  ['order', ({ trade }) => trade.phase === 'following'],
  ['signing', ({ trade }) => trade.phase === 'signing' || trade.phase === 'signed'],
  ['waiting', ({ trade }) => trade.phase === 'waiting'],
  ['review', ({ trade }) => trade.phase === 'review'],
  ['first', ({ isConnected }) => !isConnected],
  ['down', ({ service }) => service === null || service?.relay === false || service?.node === false],
  ['set-up', (facts) => !isPrivate(facts)],
  ['wrap', isConversion],
  ['quoting', ({ trade }) => trade.phase === 'quoting'],
  ['worse', ({ trade }) => trade.isWorse],
  ['guard', ({ trade }) => trade.quote !== undefined && trade.quote.loss.level !== 'none'],
  ['eth', ({ trade, step }) => trade.quote !== undefined && trade.sell?.wrapped !== undefined && step?.name !== 'batch'],
  ['reset', ({ step }) => step?.name === 'reset'],
  ['approve', ({ step }) => step?.name === 'approve'],
  ['ready', ({ trade }) => trade.quote !== undefined],
  ['connected', () => true],
]

/** The state of the card. */
export function stateOf(trade: Trade, world: World): State {
  const facts = { ...world, trade, step: stepsOf(trade, world.canBatch)[0], place: [0, 0] as const }
  return STATES.find(([, applies]) => applies(facts))?.[0] ?? 'connected'
}

