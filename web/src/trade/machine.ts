// One trade from the first key to its order: phases and events as a table, and what each event changes.

import type { Quote } from '../quote'
import type { Route, Schemas } from '../api'
import type { Token } from '../tokens'

export type Phase =
  /** Nothing is quoted. */
  | 'open'
  /** The sources are asked. */
  | 'quoting'
  /** A quote is live; a fresh one may be under way. */
  | 'quoted'
  /** The person compares what will be signed. */
  | 'review'
  /** The wallet is asked. */
  | 'signing'
  /** The wallet named a hash; the service has not shown the order yet. */
  | 'signed'
  /** A step before the swap waits for its block. */
  | 'waiting'
  /** The last transaction is an order, and is followed. */
  | 'following'

/** `back`: to the phase in which the wallet was asked; `open` if the form was edited since. */
type Target = Phase | 'back'

export type EventName = Event['type']

const FORM = { edit: 'open', separate: 'quoted' } as const

/** What may happen in which phase. An event that is not here changes nothing: it came too late. */
export const TABLE: Readonly<Record<Phase, Partial<Record<EventName, Target>>>> = {
  open: { edit: 'open', price: 'open', ask: 'quoting', hold: 'open', consent: 'open', sign: 'signing', fault: 'open', follow: 'following', refuted: 'open', swapWrapped: 'open' },
  quoting: { edit: 'open', price: 'quoting', ask: 'quoting', route: 'quoting', quote: 'quoted', refuse: 'open', fault: 'quoting', swapWrapped: 'open' },
  quoted: { ...FORM, price: 'quoted', conversion: 'quoted', ask: 'quoted', route: 'quoted', quote: 'quoted', refuse: 'open', expire: 'open', look: 'quoted', consent: 'quoted', review: 'review', sign: 'signing', fault: 'quoted', refuted: 'open', swapWrapped: 'open' },
  review: { edit: 'open', conversion: 'review', ask: 'review', route: 'review', quote: 'review', refuse: 'open', expire: 'open', look: 'review', close: 'quoted', sign: 'signing', fault: 'review', refuted: 'open', swapWrapped: 'open' },
  signing: { edit: 'signing', asks: 'signing', signed: 'signed', fail: 'back', stray: 'open', step: 'waiting', apart: 'open', last: 'following' },
  signed: { edit: 'signed', fail: 'back', stray: 'open', step: 'waiting', apart: 'open', last: 'following' },
  waiting: { edit: 'open', mined: 'open', ended: 'open', swapWrapped: 'open' },
  following: { leave: 'open' },
} // prettier-ignore

/** A transaction of this many is asked for. */
export interface Asked {
  step: 'wrap' | 'unwrap' | 'reset' | 'approve' | 'swap' | 'batch'
  /** As in "approve exactly 1.5 WETH". */
  label: string
}

interface Form {
  sell?: Token | undefined
  buy?: Token | undefined
  amount?: string
  slippage?: string
}

export type Event =
  /** What a person changes; it withdraws the quote. */
  | { type: 'edit'; form: Form }
  | { type: 'price'; turn: number; price: Schemas['PriceResponse'] }
  | { type: 'ask' }
  | { type: 'route'; turn: number; route: Route }
  /** `isWorse`: than the one that the person has seen. */
  | { type: 'quote'; turn: number; quote: Quote; until: number; isWorse: boolean }
  | { type: 'refuse'; turn: number; fault: string }
  /** What the gas of the wrap before a swap, or of the unwrap after it, may cost, by its own quote. */
  | { type: 'conversion'; turn: number; gasWei: bigint }
  | { type: 'expire' }
  | { type: 'look' }
  | { type: 'consent'; consent: string }
  /** Notes and loss of a wrap, before it is signed. */
  | { type: 'hold'; turn: number; wrap: Schemas['WrapQuoteResponse'] }
  | { type: 'fault'; turn: number; fault: string }
  | { type: 'separate' }
  | { type: 'review' }
  | { type: 'close' }
  | { type: 'sign'; asked: Asked }
  /** The wallet is asked now; the newest order before it was made at `after`. */
  | { type: 'asks'; after: string }
  | { type: 'signed' }
  /** The wallet sent nothing, as it says. */
  | { type: 'fail'; fault: string; isRefutable: boolean }
  /** What was asked for may have been sent elsewhere. */
  | { type: 'stray'; fault: string }
  /** `left`: the titles of the steps after it. */
  | { type: 'step'; orderId: string; done: string; left: readonly string[] }
  | { type: 'apart'; fault: string }
  | { type: 'last'; orderId: string; fault: string }
  /** The ETH of the form is wrapped: the swap of the WETH follows. */
  | { type: 'swapWrapped'; sell: Token }
  | { type: 'mined' }
  | { type: 'ended'; fault: string }
  /** An order of the account is newer than the question for which the wallet named none. */
  | { type: 'refuted'; fault: string }
  | { type: 'follow'; orderId: string }
  | { type: 'leave' }

export interface Trade {
  phase: Phase
  /** Of the question: each edit and each question raises it, and what comes for an earlier one is late. */
  turn: number
  sell: Token | undefined
  buy: Token | undefined
  /** As typed. */
  amount: string
  slippage: string
  price: Schemas['PriceResponse'] | undefined
  routes: readonly Route[]
  quote: Quote | undefined
  /** The most that the gas of the wrap or unwrap beside the swap may cost; undefined: not quoted. */
  conversionGasWei: bigint | undefined
  /** Unix ms by the service's clock: a fresh quote follows then. */
  until: number
  /** The quote that the person has looked at. */
  seen: Quote | undefined
  isWorse: boolean
  /** A fresh quote is under way. */
  isRenewing: boolean
  wrap: Schemas['WrapQuoteResponse'] | undefined
  consent: string
  fault: string
  /** What the fault is of: a quote's makes way for the next quote, a wallet's stays beside it, and after `stray` a person asks for the next one. */
  faultOf: '' | 'quote' | 'wallet' | 'stray'
  /** Approve and swap apart, although the wallet can do both in one. */
  isSeparate: boolean
  asked: Asked | undefined
  /** The newest order's time before the wallet was asked. */
  after: string
  /** The wallet named no transaction: an order that is newer than `after` refutes it. */
  isRefutable: boolean
  isEdited: boolean
  from: Phase
  /** Steps that were signed; blocks have all but the one that is waited for. */
  done: readonly string[]
  /** Steps after the last of them, until a quote names them anew. */
  left: readonly string[]
  /** The order that is waited for or followed. */
  orderId: string
}

/** Later than every time: the wallet was not asked yet. */
const NEVER = '~'

const UNQUOTED = {
  price: undefined,
  routes: [],
  quote: undefined,
  conversionGasWei: undefined,
  until: 0,
  seen: undefined,
  isWorse: false,
  isRenewing: false,
  wrap: undefined,
  consent: '',
  fault: '',
  faultOf: '',
  isSeparate: false,
} as const satisfies Partial<Trade>

export const fresh = (slippage: string): Trade => ({
  ...UNQUOTED,
  phase: 'open',
  turn: 0,
  sell: undefined,
  buy: undefined,
  amount: '',
  slippage,
  asked: undefined,
  after: '',
  isRefutable: false,
  isEdited: false,
  from: 'open',
  done: [],
  left: [],
  orderId: '',
})

/** Whether an event is for an earlier question. */
const isLate = (trade: Trade, event: Event): boolean => 'turn' in event && event.turn !== trade.turn

/** The trade after an event; the same one if the event may not happen now. */
export function reduce(trade: Trade, event: Event): Trade {
  const target = TABLE[trade.phase][event.type]
  if (target === undefined || isLate(trade, event)) return trade
  const back = trade.isEdited || !trade.quote ? 'open' : trade.from
  return { ...trade, ...changeOf(trade, event), phase: target === 'back' ? back : target }
}

/** What an event changes besides the phase. */
function changeOf(trade: Trade, event: Event): Partial<Trade> {
  switch (event.type) {
    case 'edit':
      return edited(trade, event.form)
    case 'price':
      return { price: event.price }
    case 'ask':
      return asking(trade)
    case 'route':
      return { routes: [...trade.routes, event.route] }
    case 'quote':
      return quoted(trade, event)
    case 'conversion':
      return { conversionGasWei: event.gasWei }
    case 'look':
      return { seen: trade.quote, isWorse: false, consent: '' }
    case 'hold':
      return { wrap: event.wrap, fault: '', faultOf: '' }
    case 'consent':
      return { consent: event.consent }
    case 'separate':
      return { isSeparate: true }
    case 'expire':
      return { quote: undefined, isWorse: false, isRenewing: false, turn: trade.turn + 1 }
    case 'refuse':
      return { quote: undefined, isWorse: false, isRenewing: false, fault: event.fault, faultOf: 'quote' }
    case 'fault':
      return { fault: event.fault, faultOf: 'quote' }
    default:
      return walletChange(trade, event)
  }
}

/** What an answer of the wallet, or an order, changes. */
function walletChange(trade: Trade, event: Event): Partial<Trade> {
  const answered = { asked: undefined, isEdited: false, isRefutable: false }
  switch (event.type) {
    case 'sign':
      return { asked: event.asked, after: NEVER, from: trade.phase, isEdited: false, isRefutable: false, fault: '', faultOf: '' }
    case 'asks':
      return { after: event.after }
    case 'fail':
      return { ...answered, fault: event.fault, faultOf: 'wallet', isRefutable: event.isRefutable }
    case 'stray':
      return { ...UNQUOTED, ...answered, turn: trade.turn + 1, fault: event.fault, faultOf: 'stray' }
    case 'step':
      return { ...UNQUOTED, ...answered, isSeparate: trade.isSeparate, turn: trade.turn + 1, orderId: event.orderId, done: [...trade.done, event.done], left: event.left }
    case 'apart':
      return { ...answered, fault: event.fault, faultOf: 'wallet' }
    case 'last':
      return { ...UNQUOTED, ...answered, turn: trade.turn + 1, orderId: event.orderId, done: [], left: [], amount: trade.isEdited ? trade.amount : '', fault: event.fault, faultOf: 'wallet' }
    case 'swapWrapped':
      return { ...UNQUOTED, ...walletFault(trade), isSeparate: trade.isSeparate, sell: event.sell, turn: trade.turn + 1, orderId: '' }
    case 'mined':
      return { orderId: '' }
    case 'ended':
      return { orderId: '', done: [], left: [], fault: event.fault, faultOf: 'stray' }
    case 'refuted':
      return { ...UNQUOTED, turn: trade.turn + 1, isRefutable: false, fault: event.fault, faultOf: 'stray' }
    case 'follow':
      return { orderId: event.orderId, fault: '', faultOf: '' }
    case 'leave':
      return { orderId: '', fault: '', faultOf: '' }
    default:
      return {}
  }
} // prettier-ignore

/** What the wallet did otherwise than it was asked stays in sight. */
const walletFault = ({ fault, faultOf }: Trade): Partial<Trade> => (faultOf === 'wallet' ? { fault, faultOf } : {})

/** The form says something else: nothing that was found for it stays. */
const edited = (trade: Trade, form: Form): Partial<Trade> => ({
  ...UNQUOTED,
  ...form,
  turn: trade.turn + 1,
  done: [],
  left: [],
  isRefutable: false,
  isEdited: trade.asked !== undefined,
  orderId: '',
})

function asking(trade: Trade): Partial<Trade> {
  const stays = trade.quote !== undefined || trade.faultOf === 'wallet'
  return {
    turn: trade.turn + 1,
    routes: [],
    isRenewing: true,
    fault: stays ? trade.fault : '',
    faultOf: stays ? trade.faultOf : '',
  }
}

function quoted(trade: Trade, event: Event & { type: 'quote' }): Partial<Trade> {
  const { quote, until } = event
  const { seen } = trade
  const isWorse = seen !== undefined && event.isWorse
  return {
    quote,
    until,
    isWorse,
    isRenewing: false,
    seen: isWorse ? seen : quote,
    consent: seen && quote.loss.bps > seen.loss.bps ? '' : trade.consent,
  }
}
