// What may be lost: a notice, a sentence to confirm, or the loss to type. The service judges it.

import { useId } from 'preact/hooks'
import type { Schemas } from './api'
import { lossText } from './words'

export type Loss = Schemas['LossJudgement']

const YES = 'yes'
/** Whole percent, rounded up: what is typed. */
const wholePercent = (loss: Loss): number => Math.ceil(loss.bps / 100)

/** Whether `consent`, as the person gave it, covers a loss: a typed percentage also covers less. */
export function isConsented(loss: Loss, consent: string): boolean {
  if (loss.level === 'none' || loss.level === 'notice') return true
  if (loss.level === 'confirm') return consent === YES
  const typed = /^\s*(\d{1,3})\s*%?\s*$/.exec(consent)?.[1]
  return typed !== undefined && Number(typed) >= wholePercent(loss) && Number(typed) <= 100
}

interface Props {
  loss: Loss
  /** What is done, as in "swap". */
  action: string
  consent: string
  setConsent(consent: string): void
}

export function Guard({ loss, action, consent, setConsent }: Props) {
  const id = useId()
  const { level } = loss
  if (level === 'none') return null
  const isRed = level !== 'notice'
  return (
    <div class={isRed ? 'loss red' : 'loss'} role="group" aria-labelledby={`${id}-text`}>
      <p id={`${id}-text`}>
        {isRed ? 'You may lose: ' : 'Note: '}
        {lossText(loss)}.
      </p>
      {level === 'confirm' && (
        <label class="consent">
          <input
            type="checkbox"
            checked={consent === YES}
            onChange={(event) => setConsent(event.currentTarget.checked ? YES : '')}
          />{' '}
          Yes, {action} although {loss.causes[0]?.bps === null ? 'the price is not known' : 'I may lose this'}.
        </label>
      )}
      {isRed && level !== 'confirm' && (
        <div class="field typed">
          <label for={`${id}-typed`}>
            To {action} nevertheless, type the loss in percent: {wholePercent(loss)}
          </label>
          <input
            id={`${id}-typed`}
            inputMode="numeric"
            autocomplete="off"
            maxLength={6}
            value={consent}
            onInput={(event) => setConsent(event.currentTarget.value)}
          />
        </div>
      )}
    </div>
  )
}
