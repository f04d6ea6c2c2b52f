// What may be lost: a notice, a sentence to confirm, or the loss to type.

import { useId } from 'preact/hooks'
import { percent } from '../amounts'
import { usd } from '../figures'
import { type Loss, wholePercent, YES } from '../loss'
import { readable, SENTENCE } from '../text'
import { conversionOf, lossOf } from '../trade/plan'
import type { Trade } from '../trade/machine'
import { lossMeans, lossText } from '../words'
import { Message } from './parts'

interface Props {
  trade: Trade
  consent(text: string): void
}

/** The loss of the live quote, or of the indicative price before it. */
export function Guard({ trade, consent }: Props) {
  const loss = lossOf(trade) ?? (trade.quote || conversionOf(trade) ? undefined : trade.price?.loss)
  if (!loss || loss.level === 'none') return null
  const isAsked = trade.quote !== undefined || trade.wrap !== undefined
  const isRed = loss.level === 'confirm' || loss.level === 'type'
  return (
    <Message
      class="loss"
      tone={isRed ? 'bad' : 'warn'}
      icon={isRed ? 'danger' : 'info'}
      role="group"
      title={titleOf(loss, trade)}
    >
      <p>{lossText(loss)}.{lossMeans(loss)}</p>
      {isAsked && loss.level === 'confirm' && <Confirm loss={loss} trade={trade} consent={consent} />}
      {isAsked && loss.level === 'type' && <Type loss={loss} trade={trade} consent={consent} />}
    </Message>
  )
}

/** As in "You may lose 5.00 %, about $1,739". */
function titleOf({ bps, causes }: Loss, trade: Trade): string {
  if (causes[0]?.bps === null) return 'You may lose an unknown share'
  const scoring = (trade.quote ?? trade.price)?.scoring
  const value = scoring?.priceAvailable ? scoring.netValueUsd + scoring.gasCostUsd : 0
  const about = value > 0 && !conversionOf(trade) ? `, about ${usd(lostOf(value, causes, bps))}` : ''
  return `You may lose ${percent(bps)}${about}`
}

/** USD that are lost of what arrives: an impact is a share of what is paid, and the rest arrives. */
function lostOf(value: number, causes: Loss['causes'], bps: number): number {
  const cause = causes.find((one) => one.bps === bps)?.cause
  const share = bps / 10_000
  return cause === 'slippage' || cause === 'gas' || share >= 1 ? value * share : (value * share) / (1 - share)
}

const actionOf = (trade: Trade): string => conversionOf(trade) ?? 'swap'

interface AskProps extends Props {
  loss: Loss
}

const Confirm = ({ loss, trade, consent }: AskProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={trade.consent === YES}
      onChange={(event) => consent(event.currentTarget.checked ? YES : '')}
    />
    Yes, {actionOf(trade)} although {loss.causes[0]?.bps === null ? 'the price is not known' : 'I may lose this'}.
  </label>
)

function Type({ loss, trade, consent }: AskProps) {
  const id = useId()
  return (
    <div class="field short">
      <label for={id}>
        To {actionOf(trade)} nevertheless, type the loss in percent: <b>{wholePercent(loss)}</b>
      </label>
      <input
        id={id}
        inputMode="numeric"
        autocomplete="off"
        maxLength={6}
        value={trade.consent}
        onInput={(event) => consent(event.currentTarget.value)}
      />
    </div>
  )
}

/** What the service says about a quote or a wrap, before it is signed. */
export function HeldNotes({ trade }: { trade: Trade }) {
  const notes = trade.wrap?.notes ?? trade.quote?.verification.notes ?? []
  if (!notes.length) return null
  return (
    <Message tone="warn" icon="info" class="notes" title="Before you sign">
      {notes.map((note) => (
        <p key={note}>{readable(note, SENTENCE)}</p>
      ))}
    </Message>
  )
}
