// The card: what is paid and received, the minimum, the steps, and one button.

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { parse, show, shortened } from '../amounts'
import { figure, rate, sizeOf, usd } from '../figures'
import { bestOf, mayFall } from '../quote'
import { conversionOf, GAS_WEI, stepsOf, unitsOf } from '../trade/plan'
import type { Trade } from '../trade/machine'
import { isShort, type Primary } from '../trade/primary'
import { isUnlisted, type Token } from '../tokens'
import { feeName } from './evidence'
import { Icon, Picture, Ring } from './icons'
import { Guard, HeldNotes } from './guard'
import { Fault, Message } from './parts'
import { slippageText } from './settings'
import { REST_IS_WETH } from '../words'
import { Chosen } from './tokens'

export interface CardProps {
  trade: Trade
  primary: Primary
  canBatch: boolean
  /** Smallest units that the wallet has of what is paid and received; undefined: not read. */
  paid: bigint | undefined
  received: bigint | undefined
  wallet: string
  /** The first tokens are not read yet. */
  isReading: boolean
  act(): void
  edit(form: Partial<Pick<Trade, 'sell' | 'buy' | 'amount'>>): void
  consent(text: string): void
  separate(): void
  open(sheet: 'sell' | 'buy' | 'slippage'): void
  /** What comes above the button: a batch whose end is not known. */
  children?: ComponentChildren
}

const TITLES = { wrap: 'Wrap', unwrap: 'Unwrap' }

export function Card(props: CardProps) {
  const { trade, open } = props
  const conversion = conversionOf(trade)
  const id = useId()
  return (
    <section class="panel card" aria-labelledby={id}>
      <form onSubmit={(event) => event.preventDefault()}>
        <div class="head">
          <h2 id={id}>{conversion ? TITLES[conversion] : 'Swap'}</h2>
          {!conversion && (
            <button class="slip" type="button" onClick={() => open('slippage')}>
              Slippage {slippageText(trade.slippage)} <Icon name="slip" />
            </button>
          )}
        </div>
        <Paid {...props} />
        <div class="flip">
          <button
            type="button"
            aria-label="Swap the two tokens"
            title="Swap the two tokens"
            onClick={() => props.edit({ sell: trade.buy, buy: trade.sell })}
          >
            <Icon name="flip" />
          </button>
        </div>
        <Received {...props} />
        <Decision {...props} />
      </form>
    </section>
  )
}

/** What is certain, what may be lost, and what comes next. */
function Decision(props: CardProps) {
  const { trade, primary, canBatch, wallet } = props
  const isEdited = trade.asked !== undefined && trade.isEdited
  return (
    <>
      <Chosen token={trade.sell} />
      <Chosen token={trade.buy} />
      <Least {...props} />
      {trade.isWorse && <Worse trade={trade} />}
      {!trade.isWorse && <Guard trade={trade} consent={props.consent} />}
      <HeldNotes trade={trade} />
      <RateLine trade={trade} canBatch={canBatch} />
      <StepList trade={trade} canBatch={canBatch} />
      {isEdited && (
        <Message tone="warn" title="You changed the form">
          <p>{wallet} still asks for the earlier one, to {trade.asked?.label}: decline it there.</p>
        </Message>
      )}
      {props.children}
      <Fault text={trade.fault} />
      <Go primary={primary} act={props.act} />
      <UnderGo {...props} />
    </>
  )
}

/** The one button. It keeps the focus when it is off. */
export function Go({ primary, act }: { primary: Primary; act(): void }) {
  const isOff = primary.act === undefined
  return (
    <button
      class={isOff ? 'go off' : 'go'}
      type="button"
      aria-disabled={isOff}
      aria-busy={primary.isBusy ?? false}
      onClick={() => !isOff && act()}
    >
      {primary.isBusy && <Ring />}
      {primary.words}
    </button>
  )
}

/** Enter in the amount never asks the wallet. */
const ASKS: ReadonlyArray<Primary['act']> = ['sign', 'switch', undefined]

const SHARES = [25n, 50n, 100n]

function Paid(props: CardProps) {
  const { trade, paid, edit } = props
  const { sell } = trade
  const id = useId()
  const units = sell ? parse(trade.amount, sell.decimals) : ''
  const isTooMuch = isShort(trade, paid)
  const isWrong = trade.amount !== '' && (isTooMuch || (typeof units === 'string' && units !== ''))
  return (
    <div class="well">
      <label for={id}>You pay</label>
      <Held token={sell} units={paid} />
      <input
        id={id}
        class={`amount ${sizeOf(trade.amount)} ${isWrong ? 'bad' : ''}`}
        placeholder="0"
        inputMode="decimal"
        autocomplete="off"
        maxLength={80}
        value={trade.amount}
        aria-describedby={`${id}-under`}
        aria-invalid={isWrong}
        onInput={(event) => edit({ amount: event.currentTarget.value })}
        onKeyDown={(event) => event.key === 'Enter' && !ASKS.includes(props.primary.act) && props.act()}
      />
      <Pill label="Pay with" token={sell} isReading={props.isReading} choose={() => props.open('sell')} />
      <div class="under" id={`${id}-under`}>
        <PaidNote {...props} />
        <Shares sell={sell} paid={paid} edit={edit} />
      </div>
    </div>
  )
}

/** What is wrong with the amount, or what it is worth. */
function PaidNote({ trade, paid }: CardProps) {
  const { sell } = trade
  const units = unitsOf(trade)
  if (trade.amount !== '' && sell && typeof units === 'string') return <span class="bad strong">{units}</span>
  if (sell && paid !== undefined && isShort(trade, paid)) {
    return <span class="bad strong">You have {figure(paid, sell.decimals)} {sell.symbol}.</span>
  }
  const isAllEther = sell?.wrapped && paid !== undefined && typeof units === 'bigint' && units > paid - GAS_WEI
  return isAllEther ? <span class="warn strong">Too little ETH may be left for the fee.</span> : <span />
}

function Shares({ sell, paid, edit }: Pick<CardProps, 'paid' | 'edit'> & { sell: Token | undefined }) {
  const whole = (paid ?? 0n) - (sell?.wrapped ? GAS_WEI : 0n)
  if (!sell || whole <= 0n) return null
  return (
    <span class="end shares">
      {SHARES.map((share) => (
        <button
          key={share}
          type="button"
          onClick={() => edit({ amount: show((whole * share) / 100n, sell.decimals).replaceAll(',', '') })}
        >
          {share === 100n ? 'Max' : `${share} %`}
        </button>
      ))}
    </span>
  )
}

const Held = ({ token, units }: { token: Token | undefined; units: bigint | undefined }) =>
  token && units !== undefined ? (
    <span class="held" title={show(units, token.decimals)}>
      Balance {figure(units, token.decimals)}
    </span>
  ) : null

interface PillProps {
  label: string
  token: Token | undefined
  isReading: boolean
  choose(): void
}

const Pill = ({ label, token, isReading, choose }: PillProps) => (
  <button class={token || isReading ? 'pill' : 'pill choose'} type="button" aria-label={`${label}: ${token?.symbol ?? 'choose a token'}`} onClick={choose}>
    {token && <Picture token={token} />}
    {token ? <bdi>{token.symbol}</bdi> : isReading ? <span class="skeleton" /> : 'Choose a token'}
    <Icon name="down" small />
  </button>
)

/** The amount that is shown as received, and what it is. */
function receiving(trade: Trade): { amount: string; is: string; isDim: boolean } | undefined {
  const units = unitsOf(trade)
  if (conversionOf(trade)) return typeof units === 'bigint' ? { amount: String(units), is: '', isDim: false } : undefined
  if (trade.quote) return { amount: trade.quote.buyAmount, is: '', isDim: false }
  const best = bestOf(trade.routes)
  if (best) return { amount: best.buyAmount, is: 'Best so far, simulated', isDim: true }
  if (trade.price) return { amount: trade.price.buyAmount, is: 'Indicative: not simulated yet', isDim: true }
  return undefined
}

function Received(props: CardProps) {
  const { trade, received } = props
  const { buy } = trade
  const id = useId()
  const arrives = receiving(trade)
  const text = arrives && buy ? figure(arrives.amount, buy.decimals) : '0'
  return (
    <div class="well">
      <span class="label" id={id}>You receive</span>
      <Held token={buy} units={received} />
      <output class={`amount ${sizeOf(text)} ${arrives && !arrives.isDim ? '' : 'dim'}`} aria-labelledby={id}>
        {text}
      </output>
      <Pill label="Receive" token={buy} isReading={props.isReading} choose={() => props.open('buy')} />
      <div class="under">
        <span>{worth(trade)}</span>
        <span>{arrives?.is ?? (trade.phase === 'waiting' && 'Quoted anew after this step')}</span>
      </div>
    </div>
  )
}

/** What it is worth before the network fee, where the service has a price. */
function worth({ quote, price }: Trade): string {
  const scoring = (quote ?? price)?.scoring
  return scoring?.priceAvailable ? usd(scoring.netValueUsd + scoring.gasCostUsd) : ''
}

/** The hero of the quote: green where nothing may be lost that has to be asked. */
function Least({ trade, canBatch }: CardProps) {
  const { quote, buy } = trade
  const units = unitsOf(trade)
  if (conversionOf(trade)) {
    if (typeof units !== 'bigint' || !buy) return null
    return <Band isFlat={false} title={`Exactly ${figure(units, 18)} ${buy.symbol}, always 1 to 1.`} note="No price, no slippage." />
  }
  if (!quote || !buy) return null
  const { bound } = quote.verification
  const isLost = quote.loss.level === 'confirm' || quote.loss.level === 'type'
  const arrives = isBatch(trade, canBatch) ? buy : (buy.wrapped ?? buy)
  const note = bound ? 'Enforced by the router’s own code.' : 'This router is not proven to enforce it.'
  const unlisted = isUnlisted(arrives) ? ` (unlisted, ${shortened(arrives.address)})` : ''
  const before = mayFall(quote) ? ' before a fee of the token' : ''
  const title = `At least ${figure(quote.minBuyAmount, buy.decimals)} ${arrives.symbol}${unlisted}${before}, or it fails.`
  return <Band isFlat={isLost || !bound || mayFall(quote)} title={title} note={note} full={show(quote.minBuyAmount, buy.decimals)} />
}

const isBatch = (trade: Trade, canBatch: boolean): boolean => stepsOf(trade, canBatch)[0]?.name === 'batch'

const Band = ({ isFlat, title, note, full }: { isFlat: boolean; title: string; note: string; full?: string }) => (
  <p class={isFlat ? 'least flat' : 'least'} title={full}>
    <Icon name="shield" />
    <span>
      <b>{title}</b>
      <small>{note}</small>
    </span>
  </p>
)

function RateLine({ trade, canBatch }: Pick<CardProps, 'trade' | 'canBatch'>) {
  const [isTurned, setTurned] = useState(false)
  const { sell, buy, quote, price } = trade
  const figures = quote ?? price
  const conversion = conversionOf(trade)
  if (!sell || !buy || (!figures && !conversion)) return <p class="rate" />
  const line = conversion
    ? `1 ${sell.symbol} = 1 ${buy.symbol}`
    : isTurned
      ? `1 ${buy.symbol} = ${rate(figures?.buyAmount ?? '0', buy.decimals, figures?.sellAmount ?? '0', sell.decimals)} ${sell.symbol}`
      : `1 ${sell.symbol} = ${rate(figures?.sellAmount ?? '0', sell.decimals, figures?.buyAmount ?? '0', buy.decimals)} ${buy.symbol}`
  const gas = figures && figures.scoring.gasCostUsd > 0 ? `${feeName(trade, canBatch)} ${usd(figures.scoring.gasCostUsd)}` : ''
  return (
    <p class="rate">
      <button type="button" class="turn" title="Turn it round" onClick={() => setTurned(!isTurned)}>
        {line}
      </button>
      <span class="end">{gas}</span>
    </p>
  )
}

/** The steps of one swap, only where more than one transaction is signed. */
function StepList({ trade, canBatch }: { trade: Trade; canBatch: boolean }) {
  const quoted = stepsOf(trade, canBatch).map(({ title }) => title)
  // the step that a block does not have yet is the one that goes on
  const signed = trade.phase === 'waiting' ? trade.done.slice(0, -1) : trade.done
  const left = [...trade.done.slice(signed.length), ...(quoted.length ? quoted : trade.left)]
  if (signed.length + left.length < 2) return null
  return (
    <ol class="steps" aria-label="Steps">
      {signed.map((title) => (
        <li key={title} class="done">
          {title}
        </li>
      ))}
      {left.map((title, index) => (
        <li key={title} class={index ? '' : 'now'} aria-current={index ? undefined : 'step'}>
          {title}
        </li>
      ))}
    </ol>
  )
}

function Worse({ trade: { quote, seen, buy } }: { trade: Trade }) {
  if (!quote || !seen || !buy) return null
  const least = (amount: string): string => figure(amount, buy.decimals)
  const isLess = BigInt(quote.minBuyAmount) < BigInt(seen.minBuyAmount)
  return (
    <Message tone="bad" icon="danger" role="alert" title={isLess ? 'The price fell' : 'The quote became worse'}>
      <p>
        At least {least(quote.minBuyAmount)} instead of {least(seen.minBuyAmount)} <bdi>{buy.symbol}</bdi>.
      </p>
    </Message>
  )
}

const TIMES: Readonly<Record<number, string>> = { 2: 'twice', 3: 'three times', 4: 'four times' }

/** What the next signature means. */
function UnderGo({ trade, canBatch, separate }: CardProps) {
  const [step] = stepsOf(trade, canBatch)
  const all = stepsOf(trade, canBatch).length + trade.done.length
  if (step?.name === 'batch') {
    return (
      <>
        <button class="btn quiet whole-width" type="button" onClick={separate}>
          In separate steps instead
        </button>
        <p class="note">
          1 signature: {step.title.toLowerCase()}. All of it happens, or none.{trade.buy?.wrapped && ` ${REST_IS_WETH}.`} Pay the fee in ETH: for another token your wallet sends it elsewhere.
        </p>
      </>
    )
  }
  const notes: Partial<Record<string, string>> = {
    reset: 'USDT refuses a new allowance while an old one is left. You sign three times: reset, approve, swap.',
    approve: 'Lets the router move this amount, once. Nothing is left over.',
  }
  if (trade.sell?.wrapped && conversionOf(trade)) return <p class="note">“Max” leaves 0.01 ETH for the network fee.</p>
  if (trade.sell?.wrapped && step) {
    return <p class="note">You sign {TIMES[all] ?? `${all} times`}. Between the steps the WETH is yours: you can stop after any of them.</p>
  }
  const note = step && trade.quote ? notes[step.name] : undefined
  return note ? <p class="note">{note}</p> : null
}
