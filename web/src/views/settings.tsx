// Slippage and colours, and what the browser remembers of them.

import { useEffect, useId, useState } from 'preact/hooks'
import { percent, slippage } from '../amounts'
import { remember, remembered } from '../remembered'
import { Dialog } from './parts'

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

/** The slippage in percent without idle zeros, as in 0.5 %. */
export function slippageText(text: string): string {
  const bps = slippage(text)
  return typeof bps === 'number' ? `${bps / 100} %` : '?'
}

interface Props {
  /** Slippage as typed, in percent. */
  text: string
  change(text: string): void
  close(): void
}

export function Slippage({ text, change, close }: Props) {
  const id = useId()
  const bps = slippage(text)
  const choose = (next: string): void => {
    change(next)
    if (isRemembered(next)) remember('slippage', next.replace(',', '.'))
  }
  return (
    <Dialog title="Slippage" close={close}>
      <p class="small soft">At most this much less than quoted. Otherwise the swap fails.</p>
      <div class="row seg-row">
        <div class="seg" role="group" aria-label="Usual slippages">
          {PRESETS.map((preset) => (
            <button key={preset} type="button" aria-pressed={text === preset} onClick={() => choose(preset)}>
              {preset} %
            </button>
          ))}
        </div>
        <label class="field short">
          <span class="vh">Slippage in percent</span>
          <input
            inputMode="decimal"
            autocomplete="off"
            maxLength={5}
            value={text}
            aria-describedby={`${id}-note`}
            aria-invalid={typeof bps === 'string'}
            onInput={(event) => choose(event.currentTarget.value)}
          />
        </label>
      </div>
      <p id={`${id}-note`} class="tiny soft">
        {typeof bps === 'string'
          ? bps
          : isRemembered(text)
            ? 'Up to 1 % is remembered in this browser, more is for one visit. From 3 % you are asked.'
            : `${percent(bps)} is not remembered for the next visit.`}
      </p>
    </Dialog>
  )
}

const COLOURS = ['system', 'light', 'dark']

/** Light or dark, where a person wants another than the system's. */
export function Colours() {
  const id = useId()
  const [chosen, setChosen] = useState(remembered('colours'))
  useEffect(() => {
    document.documentElement.dataset.colours = chosen
  }, [chosen])
  return (
    <p class="colours">
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
