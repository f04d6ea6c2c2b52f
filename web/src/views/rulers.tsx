// Rulers: what arrived between minimum and the pools' price, and a wait beside those of others.

import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Inclusion } from '../api'
import { figure } from '../figures'

/** Sets custom properties by the object model: the page's policy allows no style in the markup. */
function useShares(shares: Readonly<Record<string, number>>) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    for (const [name, share] of Object.entries(shares)) {
      element.current?.style.setProperty(name, `${Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10}%`)
    }
  }, Object.values(shares))
  return element
}

interface RulerProps {
  minimum: bigint
  received: bigint
  /** What the pools' price made of it; undefined where it was not read. */
  pools: bigint | undefined
  decimals: number
}

export function Ruler({ minimum, received, pools, decimals }: RulerProps) {
  const isBelow = pools !== undefined && pools > received
  const end = isBelow ? pools : received
  const span = end - minimum
  const at = span > 0n ? Number(((received - minimum) * 1_000n) / span) / 1_000 : 1
  const element = useShares({ '--at': at })
  const text = (units: bigint): string => figure(units, decimals)
  // where the end is what arrived, the dot has its label already
  const last = isBelow ? `Pools’ price ${text(end)}` : ''
  return (
    <div
      class="ruler"
      ref={element}
      role="img"
      aria-label={`Received ${text(received)}; minimum ${text(minimum)}${last && `; ${last.toLowerCase()}`}`}
    >
      <i />
      <b>Received {text(received)}</b>
      <span>Minimum {text(minimum)}</span>
      <span>{last}</span>
    </div>
  )
}

/** A wait beside those of other orders: half of them, and nine of ten. */
export function LowRuler({ waited, inclusion: { halfS, mostS } }: { waited: number; inclusion: Inclusion }) {
  const element = useShares({ '--at': mostS > 0 ? waited / mostS : 1, '--half': mostS > 0 ? halfS / mostS : 0 })
  return (
    <div class="ruler low" ref={element} aria-hidden="true">
      <i />
      <u />
      <em>half {halfS} s</em>
      <span>nine of ten {mostS} s</span>
    </div>
  )
}
