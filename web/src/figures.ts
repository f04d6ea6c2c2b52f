// Figures as a person reads them: cut and never rounded up, with a fixed number of digits.

import { show } from './amounts'

const DIGITS = 6
const DECIMALS = 6

/** Digits before the point of an amount; 0 if the whole part is zero. */
const wholeDigits = (units: bigint, decimals: number): number => {
  const size = (units < 0n ? -units : units).toString().length
  return Math.max(0, size - decimals)
}

/** At most 6 significant digits and 6 decimals; whole digits always all. */
export function figure(amount: bigint | string, decimals: number): string {
  const units = BigInt(amount)
  const places = Math.min(DECIMALS, Math.max(0, DIGITS - wholeDigits(units, decimals)))
  return show(units, decimals, Math.min(places, decimals))
}

/** A figure of a list: two decimals from 10 up. */
export function short(amount: bigint | string, decimals: number): string {
  const units = BigInt(amount)
  return wholeDigits(units, decimals) >= 2 ? show(units, decimals, Math.min(2, decimals)) : figure(units, decimals)
}

const LARGE_USD = 100_000

/** As $4,489.01, $0.36 or < $0.01; from $100,000 without cents. */
export function usd(value: number): string {
  if (value > 0 && value < 0.01) return '< $0.01'
  const cents = Math.abs(value) >= LARGE_USD ? 0 : 2
  const sign = value < 0 ? '−' : ''
  return `${sign}$${Math.abs(value).toLocaleString('en-US', { minimumFractionDigits: cents, maximumFractionDigits: cents })}`
}

/** Basis points as a signed percentage, as in +0.50 %. */
export const signed = (bps: number): string =>
  `${bps < 0 ? '−' : '+'}${(Math.abs(bps) / 100).toFixed(2)} %`

/** An amount as a signed difference, as in +22.44; cut towards zero. */
export const difference = (units: bigint, decimals: number): string =>
  `${units < 0n ? '−' : '+'}${short(units < 0n ? -units : units, decimals)}`

const UNITS = 1_000_000_000_000n

/** How much of the bought token one of the sold token brings, as text; '' where nothing is sold. */
export function rate(sold: string, sellDecimals: number, bought: string, buyDecimals: number): string {
  const units = BigInt(sold)
  if (units === 0n) return ''
  const scaled = (BigInt(bought) * UNITS * 10n ** BigInt(sellDecimals)) / units
  return figure(scaled / 10n ** BigInt(buyDecimals), 12)
}

const DAY_MS = 86_400_000

/** As 4 s, 2 min ago, 3 h ago, yesterday, then a day as in 28 Nov. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400 && isToday(then, now)) return `${Math.floor(seconds / 3_600)} h ago`
  if (isToday(then, now - DAY_MS)) return 'yesterday'
  return new Date(then).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

const isToday = (then: number, now: number): boolean =>
  new Date(then).toDateString() === new Date(now).toDateString()

/** A clock time; with its day unless it is today. */
export function clock(text: string, now: number): string {
  const then = new Date(text)
  const time = then.toLocaleTimeString('en-GB')
  return isToday(then.getTime(), now) ? time : `${ago(then.getTime(), now)} ${time.slice(0, 5)}`
}

/** The steps of an amount's size: an amount is never cut, a long one is written smaller. */
export const sizeOf = (text: string): string =>
  text.length > 24 ? 'wraps' : text.length > 16 ? 'small' : text.length > 10 ? 'smaller' : ''
