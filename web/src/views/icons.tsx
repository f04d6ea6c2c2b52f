// Own drawings: no picture of a foreign host.

import type { ComponentChildren } from 'preact'
import { WETH } from '../../../clients/typescript/src/generated/rules'
import type { Token } from '../tokens'

const PATHS = {
  slip: <><path d="M4 6h7m4 0h1M4 14h1m4 0h7" /><circle cx="13" cy="6" r="2" /><circle cx="7" cy="14" r="2" /></>,
  down: <path d="m5.5 8 4.5 4.5L14.5 8" />,
  flip: <path d="M7 4v12m0 0-3-3m3 3 3-3M13 16V4m0 0-3 3m3-3 3 3" />,
  unseen: <path d="M2.5 10S5 5 10 5c1.3 0 2.4.3 3.4.8M17.5 10S15 15 10 15c-1.3 0-2.4-.3-3.4-.8M4 16 16 4" />,
  flask: <path d="M8 3h4M9 3v5l-4.3 7A1.4 1.4 0 0 0 6 17h8a1.4 1.4 0 0 0 1.3-2L11 8V3M7 12.5h6" />,
  shield: <><path d="M10 2.5 16 5v4.5c0 4-2.6 6.6-6 8-3.4-1.4-6-4-6-8V5z" /><path d="m7.3 9.8 2 2 3.6-3.8" /></>,
  key: <><circle cx="7" cy="13" r="3.5" /><path d="m9.5 10.5 6.5-6.5m-3.5 3.5 2.5 2.5" /></>,
  close: <path d="m5.5 5.5 9 9m0-9-9 9" />,
  info: <><circle cx="10" cy="10" r="7.5" /><path d="M10 9.2v4.4M10 6.4v.1" /></>,
  copy: <><rect x="7" y="7" width="9" height="9" rx="2" /><path d="M13 7V5.5A1.5 1.5 0 0 0 11.500 4h-6A1.5 1.5 0 0 0 4 5.500v6A1.5 1.5 0 0 0 5.500 13H7" /></>,
  danger: <path d="M10 3.2 17.6 16.500H2.4zM10 8.2v3.6M10 14.2v.1" />,
  wallet: <><path d="M4 6.500h11.500a1.5 1.5 0 0 1 1.5 1.500v7a1.5 1.5 0 0 1-1.5 1.500h-11A1.5 1.5 0 0 1 3 15V5.500A1.5 1.5 0 0 1 4.500 4H14" /><path d="M13.500 11.500h.1" /></>,
  lock: <><rect x="4.5" y="9" width="11" height="8" rx="2.2" /><path d="M7 9V6.500a3 3 0 0 1 6 0V9" /></>,
  block: <path d="m10 2.500 6.500 3.700v7.600L10 17.500l-6.500-3.700V6.200zM3.500 6.2 10 10l6.500-3.800M10 10v7.500" />,
  tick: <path d="m5 10.500 3.500 3.500L15 6.500" />,
  out: <path d="M8 4.500H4.500v11h11V12M11.500 4.500h4v4M15.500 4.500 9 11" />,
  clock: <><circle cx="10" cy="10" r="7.5" /><path d="M10 6v4l2.500 2" /></>,
  search: <><circle cx="9" cy="9" r="5.5" /><path d="m13.200 13.200 3.300 3.300" /></>,
} // prettier-ignore

export const Icon = ({ name, small = false }: { name: keyof typeof PATHS; small?: boolean }) => (
  <svg class={small ? 'i s' : 'i'} viewBox="0 0 20 20" aria-hidden="true">
    {PATHS[name]}
  </svg>
)

export const Mark = () => (
  <svg viewBox="0 0 28 28" aria-hidden="true">
    <rect width="28" height="28" rx="8" fill="var(--accent)" />
    <path d="M14 6.500a7.5 7.5 0 0 1 0 15z" fill="var(--on-accent)" />
    <path d="M14 6.500a7.5 7.5 0 0 0 0 15" fill="none" stroke="var(--on-accent)" stroke-width="1.5" stroke-dasharray="1.5 2.6" stroke-linecap="round" />
  </svg>
)

const DIAMOND = (
  <>
    <path d="m20 7 8 13.500-8 4.700-8-4.700z" fill="#fff" />
    <path d="m12 23 8 4.700 8-4.700-8 11z" fill="#fff" opacity=".75" />
  </>
)

/** Colour and drawing by address, never by symbol. */
const DRAWN: Readonly<Record<string, readonly [string, ComponentChildren]>> = {
  ETH: ['#5b6ee1', DIAMOND],
  [WETH]: ['#c2326b', DIAMOND],
  '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': ['#2368c4', <path d="M24.500 15.500c-.6-2-2.300-3-4.500-3-2.600 0-4.500 1.400-4.500 3.600 0 4.800 9.300 2.800 9.300 7.700 0 2.300-2 3.700-4.800 3.700-2.500 0-4.400-1.100-5-3.300M20 9.500v21" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" />],
  '0xdAC17F958D2ee523a2206206994597C13D831ec7': ['#16806a', <><path d="M11.500 12h17M20 12v18.500" stroke="#fff" stroke-width="3.6" stroke-linecap="round" /><ellipse cx="20" cy="19" rx="9" ry="2.8" fill="none" stroke="#fff" stroke-width="2" /></>],
  '0x6B175474E89094C44Da98b954EedeAC495271d0F': ['#b06c00', <path d="M14 11.500h5.500c5 0 8 3.500 8 8.500s-3 8.500-8 8.500H14zM10.500 18h19M10.500 22h19" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />],
  '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599': ['#b85c0e', <path d="M15 11.500h6.500c5 0 5 8 0 8H15m0 0h7.500c5.500 0 5.500 9 0 9H15zM18 9v2.500M22 9v2.500M18 28.500V31M22 28.500V31" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />],
} // prettier-ignore

const hue = (address: string): number => Number.parseInt(address.slice(2, 8), 16) % 360

/** A token's picture: an own drawing, two letters on a colour of the address, or a ring for an unlisted one. */
export function Picture({ token, size = '' }: { token: Token; size?: 'l' | 'xs' | '' }) {
  const drawn = DRAWN[token.wrapped ? 'ETH' : token.address]
  const isUnlisted = token.warnings.includes('unlisted')
  const colour = drawn?.[0] ?? `hsl(${hue(token.address)} 45% 32%)`
  return (
    <svg class={`tok ${size}`} viewBox="0 0 40 40" aria-hidden="true">
      {isUnlisted ? (
        <>
          <circle cx="20" cy="20" r="18.5" fill="none" stroke="var(--bad)" stroke-width="2" stroke-dasharray="4 4" />
          <path d="M15.500 16c0-6 9-6 9 0 0 3.500-4.500 3.500-4.500 7.500M20 28.500v.1" fill="none" stroke="var(--bad)" stroke-width="3" stroke-linecap="round" />
        </>
      ) : (
        <>
          <circle cx="20" cy="20" r="20" fill={colour} />
          {drawn?.[1] ?? (
            <text x="20" y="25.5" text-anchor="middle" font-size="15" font-weight="700" fill="#fff">
              {[...token.symbol].slice(0, 2).join('').toUpperCase()}
            </text>
          )}
        </>
      )}
    </svg>
  )
}

/** A picture of an account: its colours, not its owner. */
export const Avatar = ({ address }: { address: string }) => (
  <svg class="avatar" viewBox="0 0 24 24" aria-hidden="true">
    <clipPath id="round"><circle cx="12" cy="12" r="12" /></clipPath>
    <g clip-path="url(#round)">
      <rect width="24" height="24" fill={`hsl(${hue(address)} 45% 38%)`} />
      <path d="M0 0h12v12H0z" fill={`hsl(${hue(`0x${address.slice(12)}`)} 70% 58%)`} />
      <path d="M12 12h12v12H12z" fill={`hsl(${hue(`0x${address.slice(22)}`)} 40% 34%)`} />
      <circle cx="12" cy="12" r="5" fill="#fff" opacity=".85" />
    </g>
  </svg>
)

export const Ring = ({ small = false }: { small?: boolean }) => <span class={small ? 'spin s' : 'spin'} aria-hidden="true" />
