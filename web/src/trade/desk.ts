// Does what the table of a trade only names: asks for prices and quotes, lets the wallet sign, follows the steps.
// What comes back is an event; the table decides whether it still counts.

import { WETH } from '../../../clients/typescript/src/generated/rules'
import { get, now, post, type Schemas, streamQuote } from '../api'
import type { Connection } from '../connection'
import type { Privacy } from '../privacy'
import type { Quote } from '../quote'
import { isWorse } from '../rules'
import { type Order, isOver, isUnsent, type Orders } from '../stream'
import { failureText, type Outcome, REFUTED, sendPrivately, Strayed, type Terms } from '../submit'
import { type Event, fresh, reduce, type Trade } from './machine'
import { settlersOf } from './settlers'
import { callsOf, type Conversion, conversionBeside, conversionOf, conversionTransaction, questionOf, type Step, stepsOf, transactionOf, unitsOf } from './plan'
import { isConsented } from '../loss'

/** A quote or price follows the last key after so long. */
const TYPED_MS = 400
/** A fresh quote is there before the old one ends. */
const EARLY_S = 5
const LEAST_S = 3
const TICK_MS = 500

interface Steps {
  isStill(): boolean
  asks?(after: string): void
  signed?(): void
}

/** What the page has for a trade, as of its last render. */
export interface Surroundings {
  connection: Connection | undefined
  privacy: Privacy
  isNodeUp: boolean
  canBatch: boolean
  isHeld: boolean
  orders: Orders
  /** Rises when an order was confirmed: balances and allowances changed. */
  changes: number
  isBatchOpen(): boolean
  sendBatch(connection: Connection, quote: Quote, calls: ReturnType<typeof callsOf>, steps: Steps): Promise<Outcome>
  placed(order: Order): void
  /** Called with the first step of two that the wallet is asked for, and with undefined when it has answered. */
  asks(first: 'wrap' | 'swap' | undefined, trade: Trade): void
  /** The order of a swap, or of the first step of two. */
  began(first: 'wrap' | 'swap' | undefined, order: Order, trade: Trade): void
  scrollToAction(): void
}

export class Desk {
  trade: Trade
  around: Surroundings | undefined
  private listeners = new Set<() => void>()
  private typed: ReturnType<typeof setTimeout> | undefined
  private question = ''
  private changes = 0

  constructor(usualSlippage: string) {
    this.trade = fresh(usualSlippage)
  }

  subscribe(listener: () => void): () => void {
    const timer = setInterval(() => this.tick(), TICK_MS)
    const seen = (): void => this.look()
    document.addEventListener('visibilitychange', seen)
    this.listeners.add(listener)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', seen)
      this.listeners.delete(listener)
    }
  }

  dispatch(event: Event): void {
    const before = this.trade
    this.trade = reduce(before, event)
    if (this.trade === before) return
    for (const listener of this.listeners) listener()
    this.look()
  }

  /** The page was rendered with other surroundings. */
  surround(around: Surroundings): void {
    const { connection, changes } = around
    const isOther = this.around?.connection?.address !== connection?.address
    this.around = around
    if (isOther) this.dispatch({ type: 'edit', form: {} })
    this.follow()
    // no fresh quote renews the time of an open one
    if (around.isHeld && this.trade.quote) this.dispatch({ type: 'expire' })
    if (this.trade.phase === 'review' && !this.isReviewable()) this.dispatch({ type: 'close' })
    if (changes !== this.changes) {
      this.changes = changes
      // balances and allowances changed, so the quote is asked for again
      if (this.trade.quote && !this.trade.isRenewing) this.ask()
    }
    this.look()
  }

  /** Whether the next signature is the swap. */
  private isReviewable(): boolean {
    const [step] = stepsOf(this.trade, this.around?.canBatch ?? false)
    return step?.name === 'swap' || step?.name === 'batch'
  }

  /** Asks for what the form now says, unless it was asked already. */
  look(): void {
    const { trade } = this
    const question = questionOf(trade)
    const mayQuote = this.mayQuote()
    const key = question && trade.phase === 'open' ? `${mayQuote} ${trade.turn} ${Object.values(question).join()}` : ''
    if (key === this.question || document.hidden) return
    const isBack = mayQuote && this.question.startsWith('false') && trade.faultOf === 'quote'
    this.question = key
    clearTimeout(this.typed)
    if (key === '' || ((trade.faultOf === 'quote' || trade.faultOf === 'stray') && !isBack)) return
    this.typed = setTimeout(() => (mayQuote ? this.ask() : this.price()), TYPED_MS)
  }

  private mayQuote(): boolean {
    const { around } = this
    return around?.connection !== undefined && around.privacy === 'private' && around.isNodeUp && !around.isHeld
  }

  private tick(): void {
    const { trade } = this
    if (!trade.quote || trade.isRenewing || (trade.phase !== 'quoted' && trade.phase !== 'review')) return
    if (now() < trade.until) return
    if (!document.hidden && this.mayQuote()) this.ask()
    else this.dispatch({ type: 'expire' })
  }

  private price(): void {
    const question = questionOf(this.trade)
    const { turn } = this.trade
    if (!question) return
    const { slippageBps: _, conversion: __, ...pair } = question
    get<Schemas['PriceResponse']>('/api/v1/price', pair).then(
      (price) => this.dispatch({ type: 'price', turn, price }),
      (error: Error) => this.dispatch({ type: 'fault', turn, fault: error.message }),
    )
  }

  /** Asks all sources for a quote. */
  ask(): void {
    const question = questionOf(this.trade)
    const connection = this.around?.connection
    if (!question || !connection || !this.mayQuote()) return
    const isFirst = !this.trade.quote
    this.dispatch({ type: 'ask' })
    const { turn } = this.trade
    streamQuote({ ...question, userAddress: connection.address }, (route) =>
      this.dispatch({ type: 'route', turn, route }),
    ).then(
      (quote) => {
        const lasts = Math.max(connection.session.quoteSeconds - EARLY_S, LEAST_S)
        const { seen } = this.trade
        this.dispatch({
          type: 'quote', turn, quote,
          until: now() + lasts * 1_000,
          isWorse: seen !== undefined && isWorse(quote, seen),
        }) // prettier-ignore
        if (isFirst && turn === this.trade.turn) this.around?.scrollToAction()
        void this.priceConversion(connection)
      },
      (error: Error) => this.dispatch({ type: 'refuse', turn, fault: error.message }),
    )
  }

  /** Asks for the quote of the wrap or unwrap beside the swap: what its gas may cost. */
  private async priceConversion(connection: Connection): Promise<void> {
    const { turn } = this.trade
    const beside = conversionBeside(this.trade)
    if (!beside) return
    const [operation, units] = beside
    try {
      const quote = await wrapQuote(operation, units, connection)
      const { gasLimit, maxFeePerGas } = conversionTransaction(quote, operation, units)
      this.dispatch({ type: 'conversion', turn, gasWei: BigInt(gasLimit ?? 0) * BigInt(maxFeePerGas ?? 0) })
    } catch {
      // the figure stays an estimate, and is called one; the quote that is signed is another one, and checked again
    }
  }

  /** Lets the wallet sign the next step. */
  async sign(): Promise<void> {
    const { trade, around } = this
    const [step] = stepsOf(trade, around?.canBatch ?? false)
    if (!step || !around?.connection) return
    if (step.name === 'wrap' || step.name === 'unwrap') return this.convert(around.connection, step)
    if (around.isBatchOpen()) return
    const { turn, quote } = trade
    try {
      const { address, wallet } = around.connection
      const settlers = await settlersOf(wallet.provider, quote)
      if (this.trade.turn !== turn || this.trade.quote !== quote) return // another one was clicked than is there now
      const tx = transactionOf(step.name, trade, address, settlers)
      await this.through(step, step.name === 'swap' ? 'swap' : undefined, (steps, connection) =>
        step.name === 'batch' && quote
          ? around.sendBatch(connection, quote, callsOf(trade, quote), steps)
          : sendPrivately(connection, tx, termsOf(step, trade), steps),
      )
    } catch (error) {
      this.dispatch({ type: 'fault', turn, fault: (error as Error).message })
    }
  }

  /** Asks for the transaction of a wrap; what it says is shown before it is signed. */
  private async convert(connection: Connection, step: Step): Promise<void> {
    const { trade } = this
    const operation: Conversion = step.name === 'unwrap' ? 'unwrap' : 'wrap'
    const units = unitsOf(trade)
    if (typeof units === 'string') return
    const { wrap, consent } = trade
    await this.through(step, conversionOf(trade) ? undefined : 'wrap', async (steps) => {
      const quote = await wrapQuote(operation, units, connection)
      const tx = conversionTransaction(quote, operation, units)
      const isRead = quote.notes.every((note) => wrap?.notes.includes(note))
      if (!isRead || !isConsented(quote.loss, consent)) throw new Unread(quote)
      return sendPrivately(connection, tx, conversionTerms(operation, units, quote), steps)
    })
  }

  /** Sends one transaction through the wallet, and follows the order that it became. */
  private async through(
    step: Step,
    first: 'wrap' | 'swap' | undefined,
    send: (steps: Steps, connection: Connection) => Promise<Outcome>,
  ): Promise<void> {
    const { trade } = this
    const { connection } = this.around ?? {}
    if (!connection) return
    const isSwap = first === 'swap' || step.name === 'batch'
    const isLast = isSwap || conversionOf(trade) !== undefined
    const left = stepsOf(trade, this.around?.canBatch ?? false).slice(1).map(({ title }) => title)
    this.dispatch({ type: 'sign', asked: { step: step.name, label: step.label } })
    if (this.trade === trade) return
    if (first) this.around?.asks(first, trade)
    try {
      const steps: Steps = {
        isStill: () => !this.trade.isEdited,
        asks: (after) => this.dispatch({ type: 'asks', after }),
        signed: () => this.dispatch({ type: 'signed' }),
      }
      const outcome = await send(steps, connection)
      if (first || isSwap) this.around?.began(first, outcome.order, trade)
      this.has(step, isLast ? undefined : left, outcome)
    } catch (error) {
      this.failed(error, connection)
    } finally {
      if (first) this.around?.asks(undefined, trade)
    }
  }

  /** `left`: the titles of the steps after it; undefined after the last. */
  private has(step: Step, left: string[] | undefined, { order, otherwise }: Outcome): void {
    const { orderId } = order
    this.around?.placed(order)
    if (!left) this.dispatch({ type: 'last', orderId, fault: otherwise })
    else if (this.trade.isEdited || otherwise) this.dispatch({ type: 'apart', fault: otherwise })
    else this.dispatch({ type: 'step', orderId, done: step.title, left })
    this.follow()
  }

  private failed(error: unknown, { wallet }: Connection): void {
    if (error instanceof Unread) {
      this.dispatch({ type: 'fail', fault: '', isRefutable: false })
      return this.dispatch({ type: 'hold', turn: this.trade.turn, wrap: error.quote })
    }
    // of an open batch it is not known whether it was sent: then these are words of the wallet alone
    const fault = failureText(error, this.around?.isBatchOpen() ? undefined : wallet.name)
    if (error instanceof Strayed) this.dispatch({ type: 'stray', fault })
    else this.dispatch({ type: 'fail', fault, isRefutable: true })
  }

  /** Goes on when a block has the step that is waited for; and looks for orders that refute a refusal. */
  private follow(): void {
    const { trade, around } = this
    if (!around) return
    const update = around.orders.get(trade.orderId)
    if (trade.phase === 'waiting' && update && isOver(update.order)) {
      const { status } = update.order
      if (status === 'confirmed') this.dispatch({ type: 'mined' })
      else this.dispatch({ type: 'ended', fault: `The step ${status === 'failed' ? 'failed' : 'was cancelled'}: see your orders. Nothing was swapped.` })
    }
    // a stored order may still end unsent
    const isRefuted = trade.isRefutable && [...around.orders.values()].some(({ order }) => order.createdAt > trade.after && order.status !== 'pending' && !isUnsent(order))
    if (isRefuted) this.dispatch({ type: 'refuted', fault: REFUTED })
  }
}

/** A conversion has notes or a loss that the person has not seen. */
class Unread extends Error {
  constructor(readonly quote: Schemas['WrapQuoteResponse']) {
    super()
  }
}

async function wrapQuote(operation: Conversion, units: bigint, { address }: Connection) {
  const text = String(units).padStart(19, '0')
  const amount = `${text.slice(0, -18)}.${text.slice(-18)}`.replace(/\.?0+$/, '')
  const body = { operation, amount, userAddress: address, chainId: 1 }
  const { quote } = await post<Schemas['WrapQuoteData']>('/api/v1/mev/wrap/quote', body)
  return quote
}

/** A step of a quote in the words of an order. */
function termsOf(step: Step, trade: Trade): Terms {
  const { quote, sell } = trade
  const question = questionOf(trade)
  const [fromToken, decimals, symbol] = [question?.sellToken ?? '', sell?.decimals ?? 0, sell?.symbol ?? '']
  const feeCap = quote?.mevProtection.transactionParams.maxFeePerGas
  const terms = { fromToken, decimals, symbol, feeCap }
  if (step.name === 'reset') return { ...terms, kind: 'approval', amount: '0' }
  if (step.name === 'approve') return { ...terms, kind: 'approval', amount: question?.sellAmount ?? '' }
  return { ...terms, kind: 'swap', toToken: quote?.buyToken ?? '', amount: quote?.sellAmount ?? '', minReturnAmount: quote?.minBuyAmount ?? '' }
}

/** A wrap in the words of an order. */
const conversionTerms = (operation: Conversion, units: bigint, quote: Schemas['WrapQuoteResponse']): Terms => ({
  kind: 'wrap',
  ...(operation === 'wrap' ? { toToken: WETH } : { fromToken: WETH }),
  amount: String(units),
  decimals: 18,
  symbol: operation === 'wrap' ? 'ETH' : 'WETH',
  feeCap: quote.mevProtection.transactionParams.maxFeePerGas,
})
