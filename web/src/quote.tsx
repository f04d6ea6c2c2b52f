// A quote as a person compares it: the table of sources, and the figures of the best route.

import type { Route, Schemas } from './api'
import { bps, percent, show, shortened } from './amounts'
import { Fact } from './parts'
import { readable, SENTENCE } from './text'
import type { Token } from './tokens'
import { SOURCES } from '../../clients/typescript/src/generated/rules'
import { outcome } from './words'

export type Quote = Schemas['SwapQuoteResponse']

const NAME_CHARS = 24

export function Sources({ quote, buy }: { quote: Quote; buy: Token }) {
  const text = (amount: string | null): string =>
    amount === null ? '–' : show(amount, buy.decimals, places(amount.length - buy.decimals))
  const tried = quote.sources.filter((one) => one.simulated !== null).length
  return (
    <details>
      <summary>
        {nameOf(quote.source)} is the best of {quote.sources.length} sources, {tried} simulated
      </summary>
      <div class="scroll" role="group" aria-label="Sources" tabIndex={0}>
      <table>
        <caption>
          What each source promised, and what its route delivered when simulated, in{' '}
          <bdi>{buy.symbol}</bdi>; below a promise, how far it is from the price of the pools
        </caption>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Promised</th>
            <th scope="col">Simulated</th>
            <th scope="col">Difference</th>
            <th scope="col">After gas</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {quote.sources.map((one) => (
            <tr key={one.source} class={one.outcome}>
              <th scope="row">{nameOf(one.source)}</th>
              <td data-label="Promised">
                {text(one.promised)}
                {one.referenceBps != null && <small>{percent(one.referenceBps)}</small>}
              </td>
              <td data-label="Simulated">{text(one.simulated)}</td>
              <td data-label="Difference">
                {one.differenceBps === null ? '–' : percent(one.differenceBps)}
              </td>
              <td data-label="After gas">{netUsd(quote, one.source)}</td>
              <td class="result">{outcome(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {quote.sources.map(
        (one) =>
          one.reason != null && (
            <p key={one.source} class="note">
              {nameOf(one.source)}: {readable(one.reason, SENTENCE)}
            </p>
          ),
      )}
      </div>
    </details>
  )
}

/** The verified routes of a quote that is still made, the best in bold. */
export function Arriving({ routes, buy }: { routes: readonly Route[]; buy: Token }) {
  const best = bestOf(routes)
  return (
    <ul class="arriving" aria-label="Verified routes" aria-live="polite">
      {routes.map((one) => (
        <li key={one.source} class={one === best ? 'strong' : ''}>
          {nameOf(one.source)}: {show(one.buyAmount, buy.decimals, places(one.buyAmount.length - buy.decimals))}{' '}
          <bdi>{buy.symbol}</bdi>
        </li>
      ))}
    </ul>
  )
}

export const bestOf = (routes: readonly Route[] = []): Route | undefined =>
  routes.reduce<Route | undefined>(
    (best, one) => (best && BigInt(best.buyAmount) >= BigInt(one.buyAmount) ? best : one),
    undefined,
  )

/** Decimals of an amount with this many digits before them: large ones hid the last column. */
export const places = (digits: number): number => (digits > 6 ? 0 : digits > 4 ? 2 : 6)
const TITLES: Readonly<Record<string, string>> = SOURCES
const nameOf = (source: string): string => TITLES[source] ?? readable(source, NAME_CHARS)
export const usd = (value: number, cents = 2): string =>
  `$${value.toLocaleString('en-US', { minimumFractionDigits: cents, maximumFractionDigits: cents })}`

/** The value of a source's route after gas, where it was ranked. */
function netUsd({ source, scoring, alternatives }: Quote, name: string): string {
  const found = name === source ? scoring : alternatives.find((one) => one.source === name)
  return found && scoring.priceAvailable
    ? usd(found.netValueUsd, Math.min(2, places(found.netValueUsd.toFixed(0).length)))
    : '–'
}

export function Facts({ quote, buy }: { quote: Quote; buy: Token }) {
  const { scoring, mevAnalysis } = quote
  return (
    <dl class="facts">
      <Fact name="At least">
        {show(quote.minBuyAmount, buy.decimals, 6)} <bdi>{buy.symbol}</bdi> (
        {percent(bps(BigInt(quote.minBuyAmount), BigInt(quote.buyAmount)))})
      </Fact>
      <Fact name="Price impact">{quote.priceImpactAvailable ? `${quote.priceImpact.toFixed(2)} %` : 'not known'}</Fact>
      <Fact name="Gas">{scoring.priceAvailable ? `about ${usd(scoring.gasCostUsd)}` : `${quote.estimatedGas} units`}</Fact>
      <Fact name="After gas">{scoring.priceAvailable ? usd(scoring.netValueUsd) : 'no USD price'}</Fact>
      <Fact name="A sandwich could take">
        {mevAnalysis.known ? `at most ${usd(mevAnalysis.estimatedProtectionUsd)}, if it were public` : 'not known'}
      </Fact>
      <Fact name="Router">
        <code title={quote.dexRoute.target}>{shortened(quote.dexRoute.target)}</code>
      </Fact>
      {quote.verification.notes.map((note) => (
        <dd key={note} class="warn">
          {readable(note, SENTENCE)}
        </dd>
      ))}
    </dl>
  )
}
