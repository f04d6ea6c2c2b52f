// Settings of a swap behind a gear, and what the browser remembers of them.

import { useEffect, useId, useState } from 'preact/hooks'
import { percent, slippage } from './amounts'
import { remember, remembered } from './remembered'

const PRESETS = ['0.1', '0.5', '1']
/** More is a choice for one swap: a later visit must not begin with it. */
const REMEMBERED_BPS = 100

/** Whether a text is a slippage that a later visit may begin with. */
function isRemembered(text: string): boolean {
  const bps = slippage(text)
  return typeof bps === 'number' && bps <= REMEMBERED_BPS
}

/** The slippage that a visit begins with, as text in percent. */
export function usualSlippage(): string {
  const text = remembered('slippage')
  return isRemembered(text) ? text : '0.5'
}

interface Props {
  /** Slippage as typed, in percent. */
  text: string
  change(text: string): void
}

export function Settings({ text, change }: Props) {
  const id = useId()
  const bps = slippage(text)
  const choose = (next: string): void => {
    change(next)
    if (isRemembered(next)) remember('slippage', next)
  }
  return (
    <details class="gear">
      <summary>
        <span aria-hidden="true">⚙</span> Settings: at most{' '}
        {typeof bps === 'number' ? percent(bps) : '?'} less than quoted
      </summary>
      <p class="shares">
        {PRESETS.map((preset) => (
          <button
            key={preset}
            type="button"
            aria-pressed={text === preset}
            onClick={() => choose(preset)}
          >
            {preset} %
          </button>
        ))}
      </p>
      <div class="field short">
        <label for={id}>Slippage</label>
        <input
          id={id}
          inputMode="decimal"
          autocomplete="off"
          maxLength={5}
          value={text}
          aria-describedby={`${id}-note`}
          aria-invalid={typeof bps === 'string'}
          onInput={(event) => choose(event.currentTarget.value)}
        />
      </div>
      <p id={`${id}-note`} class="note">
        {typeof bps === 'string' ? bps : 'Percent less than quoted, at most.'}
        {typeof bps === 'number' &&
          !isRemembered(text) &&
          ' So much is not remembered for the next visit.'}
      </p>
    </details>
  )
}

const COLOURS = ['as the system', 'light', 'dark']

/** Light or dark, where a person wants another than the system's. */
export function Colours() {
  const id = useId()
  const [chosen, setChosen] = useState(remembered('colours'))
  useEffect(() => {
    document.documentElement.dataset.colours = chosen
  }, [chosen])
  return (
    <p>
      <label for={id}>Colours</label>
      <select
        id={id}
        value={chosen}
        onChange={(event) => {
          remember('colours', event.currentTarget.value)
          setChosen(event.currentTarget.value)
        }}
      >
        {COLOURS.map((name, index) => (
          <option key={name} value={index ? name : ''}>
            {name}
          </option>
        ))}
      </select>
    </p>
  )
}
