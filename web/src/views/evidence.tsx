// The second column: why to believe the card.

import type { Route, Schemas, Status } from '../api'
import { percent, shortened, show } from '../amounts'
import { figure, signed, usd } from '../figures'
import { bestOf, isKnownRouter, nameOf, type Quote, routerName } from '../quote'
import { readable, SENTENCE } from '../text'
import { boundOf, conversionOf, mostFees, stepsOf, unitsOf } from '../trade/plan'
import type { Trade } from '../trade/machine'
import type { Token } from '../tokens'
import { expected, outcome } from '../words'
import { Icon, Ring } from './icons'
import { Fact, useNow } from './parts'

interface Props {
  trade: Trade
  status: Status | null | undefined
  /** Names of the sources that will answer; [] where it is not known. */
  sources: readonly string[]
  isConnected: boolean
  canBatch: boolean
}

export function Evidence({ trade, status, sources, isConnected, canBatch }: Props) {
  const { quote, buy } = trade
  if (conversionOf(trade)) return <Signs trade={trade} />
  if (isConnected && status && (!status.relay || !status.node)) return <Service status={status} />
  if (quote && buy) {
    return (
      <>
        <Sources quote={quote} buy={buy} />
        <ThisSwap quote={quote} trade={trade} canBatch={canBatch} />
      </>
    )
  }
  if (trade.phase === 'quoting' && buy) return <Arriving routes={trade.routes} sources={sources} buy={buy} />
  return <Points />
}

const POINTS = [
  ['unseen', 'Private', 'It goes to a private relay, never to the public mempool, where bots could trade ahead of you.'],
  ['flask', 'Simulated', 'Each source’s route is run at our own Ethereum node before you see it. A promise alone never wins.'],
  ['shield', 'Bound', 'Known router code enforces your minimum: you get at least that, or the swap fails.'],
  ['key', 'Yours', 'Your wallet signs. No key, no deposit, no unlimited approval.'],
] as const

export const Points = () => (
  <section class="plain" aria-label="Why to trust it">
    <ul class="points">
      {POINTS.map(([icon, title, text]) => (
        <li key={title}>
          <span class="ico"><Icon name={icon} /></span>
          <h3>{title}</h3>
          <p>{text}</p>
        </li>
      ))}
    </ul>
  </section>
)

/** What a swap costs, before any wallet. */
export const Costs = ({ trade, status }: Pick<Props, 'trade' | 'status'>) => (
  <section class="side" aria-label="What it costs">
    <h2><span>What it costs</span></h2>
    <dl class="facts">
      <Fact name="Fee of quietswap">none</Fact>
      <Fact name={feeName(trade, false)} more="nothing, if no block takes it">
        {trade.price && trade.price.scoring.gasCostUsd > 0 ? `about ${usd(trade.price.scoring.gasCostUsd)}` : 'paid in ETH'}
      </Fact>
      <Fact name="Time to a block">{expected(status?.inclusion)}</Fact>
    </dl>
  </section>
)

const ROW = { good: <Icon name="tick" />, off: <Icon name="close" /> }

interface RowProps {
  name: string
  amount: string
  note: string
  more?: string
  tag?: string | undefined
  kind: 'good' | 'off' | 'now'
}

const SourceRow = ({ name, amount, note, more = '', tag, kind }: RowProps) => (
  <li class={`${tag ? 'best' : ''} ${kind === 'off' ? 'off' : ''}`}>
    <span class={kind === 'good' ? 'good' : ''}>{kind === 'now' ? <Ring small /> : ROW[kind]}</span>
    <span>
      {name} {tag && <span class="tag">{tag}</span>}
    </span>
    <span class="n">{kind === 'now' ? <span class="skeleton" /> : amount}</span>
    <small>{note}</small>
    {more && <small>{more}</small>}
  </li>
)

/** The verified routes of a quote that is still made, the best in front, and who is awaited. */
function Arriving({ routes, sources, buy }: { routes: readonly Route[]; sources: readonly string[]; buy: Token }) {
  const best = bestOf(routes)
  const ordered = [...routes].sort((a, b) => (BigInt(a.buyAmount) < BigInt(b.buyAmount) ? 1 : -1))
  const awaited = sources.filter((name) => !routes.some(({ source }) => source === name))
  return (
    <section class="side" aria-label="Sources">
      <h2>
        <span>Sources</span>
        <span>
          {sources.length > 0 ? `${routes.length} of ${routes.length + awaited.length}` : routes.length} simulated
        </span>
      </h2>
      <ul class="sources arriving">
        {ordered.map((route) => (
          <SourceRow
            key={route.source}
            name={nameOf(route.source)}
            amount={figure(route.buyAmount, buy.decimals)}
            note={against(route.promised, route.simulated)}
            tag={route === best ? 'Best so far' : undefined}
            kind="good"
          />
        ))}
        {awaited.map((name) => (
          <SourceRow key={name} name={nameOf(name)} amount="" note="Asked…" kind="now" />
        ))}
      </ul>
      <p class="tiny soft">A source counts when its route was run at this service’s own node, with your balances.</p>
    </section>
  )
}

/** What the simulation measured, against what was promised. */
function against(promised: string, simulated: string): string {
  const [whole, part] = [BigInt(promised), BigInt(simulated)]
  return whole === 0n ? '' : differenceText(Number(((part - whole) * 10_000n) / whole))
}

const differenceText = (bps: number): string =>
  bps === 0 ? 'As promised' : `${percent(Math.abs(bps))} ${bps > 0 ? 'above' : 'below'} promise`

export function Sources({ quote, buy }: { quote: Quote; buy: Token }) {
  const simulated = quote.sources.filter((entry) => entry.simulated !== null).length
  const rows = [...quote.sources].sort((a, b) => rank(quote, a) - rank(quote, b))
  return (
    <section class="side quote" aria-label="Sources">
      <h2>
        <span>Sources</span>
        <span>
          {simulated} of {quote.sources.length} simulated
        </span>
      </h2>
      <ul class="sources">
        {rows.map((entry) => (
          <Told key={entry.source} entry={entry} quote={quote} buy={buy} />
        ))}
      </ul>
      {simulated > 0 && <p class="tiny soft">Each route was run at this service’s own node, with your balances.</p>}
    </section>
  )
}

type Entry = Schemas['SourceEntry']

const isOffered = ({ outcome: is }: Entry): boolean => is === 'won' || is === 'answered'

/** The order of rows: the best, then by value after the fee; those that offer nothing last. */
function rank(quote: Quote, entry: Entry): number {
  if (entry.outcome === 'won') return -1
  if (!isOffered(entry)) return 1_000
  const at = quote.alternatives.findIndex(({ source }) => source === entry.source)
  return at < 0 ? 999 : at
}

function Told({ entry, quote, buy }: { entry: Entry; quote: Quote; buy: Token }) {
  const amount = entry.simulated ?? entry.promised
  const net = netUsd(quote, entry.source)
  const difference = entry.simulated !== null && entry.differenceBps !== null ? differenceText(entry.differenceBps) : outcome(entry)
  const reason = entry.reason == null ? '' : `: ${readable(entry.reason, SENTENCE)}`
  return (
    <SourceRow
      name={nameOf(entry.source)}
      amount={isOffered(entry) && amount !== null ? figure(amount, buy.decimals) : ''}
      note={isOffered(entry) ? difference : `${capital(outcome(entry))}${reason}`}
      more={isOffered(entry) && net ? `${net} after fee` : ''}
      tag={entry.outcome === 'won' ? 'Best' : undefined}
      kind={isOffered(entry) ? 'good' : 'off'}
    />
  )
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The value of a source's route after gas, where it was ranked. */
function netUsd({ source, scoring, alternatives }: Quote, name: string): string {
  const ranked = name === source ? scoring : alternatives.find((entry) => entry.source === name)
  return ranked && scoring.priceAvailable ? usd(ranked.netValueUsd) : ''
}

/** The most that the fees of a trade may be, in ETH, and of how many transactions where it is more than one. */
export function mostFee(trade: Trade, canBatch: boolean): string {
  const steps = stepsOf(trade, canBatch)
  const all = steps.length > 2 ? `all ${steps.length}` : 'both'
  const most = show(mostFees(trade, canBatch) + 10n ** 12n - 1n, 18, 6)
  return `${boundOf(trade, canBatch)} ${most} ETH${steps.length > 1 ? ` for ${all} transactions` : ''}`
}

/** What the fee in USD is of: where more is signed, and before a quote where ETH is traded, of the swap alone. */
export function feeName(trade: Trade, canBatch: boolean): string {
  const { quote, sell, buy } = trade
  const isOfMany = quote ? stepsOf(trade, canBatch).length > 1 : sell?.wrapped ?? buy?.wrapped
  return isOfMany ? 'Network fee of the swap' : 'Network fee'
}

/** The fee of the swap itself. */
export const feeText = (quote: Quote): string =>
  quote.scoring.gasCostUsd > 0 ? `about ${usd(quote.scoring.gasCostUsd)}` : `${quote.estimatedGas} gas`

export const Router = ({ address, more = '' }: { address: string; more?: string }) => (
  <Fact name="Router" more={<><code title={address}>{shortened(address)}</code>{more}</>}>
    {isKnownRouter(address) && <span class="good">✓ </span>}
    {routerName(address)}
  </Fact>
)

export const sandwichText = ({ mevAnalysis }: Quote): string =>
  mevAnalysis.known ? `up to ${usd(mevAnalysis.estimatedProtectionUsd)}` : 'not known'

/** With the sign of all comparisons: a minus is less for the person. The service counts a loss as positive. */
export const impactText = ({ priceImpact, priceImpactAvailable }: Pick<Quote, 'priceImpact' | 'priceImpactAvailable'>): string =>
  priceImpactAvailable ? signed(-Math.round(priceImpact * 100)) : 'not known'

function ThisSwap({ quote, trade, canBatch }: Pick<Props, 'trade' | 'canBatch'> & { quote: Quote }) {
  const now = useNow()
  const left = Math.max(0, Math.ceil((trade.until - now) / 1_000))
  const isSmall = quote.mevAnalysis.known && quote.mevAnalysis.estimatedProtectionUsd < 0.01
  const reference = quote.sources.find(({ source }) => source === quote.source)?.referenceBps
  return (
    <section class="side" aria-label="This swap">
      <h2>
        <span>This swap</span>
        <span>{trade.isRenewing ? 'new quote…' : `new quote in ${left} s`}</span>
      </h2>
      <dl class="facts">
        <Fact name="Price impact" more="a minus is less for you">{impactText(quote)}</Fact>
        {reference != null && <Fact name="Against the pools’ price">{signed(reference)}</Fact>}
        <Fact name={feeName(trade, canBatch)} more={mostFee(trade, canBatch)}>{feeText(quote)}</Fact>
        <Fact name="Fee of quietswap">none</Fact>
        <Fact name="A sandwich in public" more={isSmall ? '' : 'this swap stays out of it'}>
          {isSmall ? 'not worth one' : sandwichText(quote)}
        </Fact>
        <Router address={quote.dexRoute.target} />
      </dl>
    </section>
  )
}

/** What is signed for a wrap or unwrap. */
function Signs({ trade }: { trade: Trade }) {
  const isWrap = conversionOf(trade) === 'wrap'
  const units = unitsOf(trade)
  return (
    <>
      <section class="side" aria-label="What you sign">
        <h2><span>What you sign</span></h2>
        <dl class="facts">
          <Fact name="Call"><code>{isWrap ? 'deposit()' : 'withdraw(amount)'}</code></Fact>
          <Fact name="Contract" more={<code>{shortened(trade.sell?.address ?? '')}</code>}><span class="good">✓</span> WETH</Fact>
          <Fact name="Value">{typeof units === 'bigint' && isWrap ? show(units, 18) : '0'} ETH</Fact>
          <Fact name="Seen by" more="no searcher">the relay and its block builders</Fact>
        </dl>
      </section>
      <section class="plain">
        <p class="small soft">Choose ETH and WETH in the two fields, in either order, to wrap or unwrap. There is no page of its own for it.</p>
      </section>
    </>
  )
}

/** What works, while something does not. */
const Service = ({ status }: { status: Status }) => (
  <section class="side" aria-label="Service">
    <h2><span>Service</span></h2>
    <dl class="facts">
      <Works name="Ethereum node" is={status.node} />
      <Works name="Private relay" is={status.relay} />
      <Works name="Sources" is={status.sources} />
    </dl>
  </section>
)

const Works = ({ name, is }: { name: string; is: boolean }) => (
  <Fact name={name}>{is ? <span class="good">✓ answers</span> : <span class="bad">✕ no answer</span>}</Fact>
)
