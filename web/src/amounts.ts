// Amounts are bigint in smallest units; text is for people.

/** A comma as the locale's keypad types it, between digits that can be read in one way only. */
const COMMA = /^(\d*),(\d*)$/

/** A typed number with a point; undefined for one that has two readings, as 1,234 has. */
function pointed(text: string): string | undefined {
  const [, whole = '', fraction = ''] = COMMA.exec(text) ?? []
  const isGroup = fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole)
  return isGroup ? undefined : text.replace(COMMA, '$1.$2')
}

/** Smallest units of an amount as a person types it, or the reason why it is none. */
export function parse(text: string, decimals: number): bigint | string {
  const trimmed = text.trim()
  if (trimmed === '') return 'Type an amount.'
  const typed = pointed(trimmed)
  if (typed === undefined) {
    return `${trimmed} has two readings: write ${trimmed.replace(',', '')} or ${trimmed.replace(',', '.')}.`
  }
  if (!/^(?:\d+\.?\d*|\.\d+)$/.test(typed)) return 'An amount has digits and one point or comma, as in 1.5.'
  const [whole = '', fraction = ''] = typed.split('.')
  if (fraction.length > decimals) return `This token has ${decimals} decimals.`
  const amount = BigInt((whole || '0') + fraction.padEnd(decimals, '0'))
  return amount > 0n ? amount : 'The amount is zero.'
}

/** The amount in whole tokens with thousands, at most `places` decimals, never rounded up. */
export function show(amount: bigint | string, decimals: number, places = decimals): string {
  const units = BigInt(amount)
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const cut = digits.length - decimals
  const whole = digits.slice(0, cut).replace(/\B(?=(?:\d{3})+$)/g, ',')
  const fraction = digits.slice(cut).slice(0, places).replace(/0+$/, '')
  const isTooSmall = units !== 0n && whole === '0' && fraction === ''
  if (isTooSmall) return `< ${sign}0.${'0'.repeat(Math.max(places - 1, 0))}1`
  return sign + whole + (fraction && `.${fraction}`)
}

/** Basis points of a difference, `part` against `whole`. */
export function bps(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number(((part - whole) * 10_000n) / whole)
}

/** Basis points as percent, as in 0.5 %. */
export const percent = (value: number): string => `${(value / 100).toFixed(2)} %`

/** Slippage as a person types it in percent, in basis points; or the reason why it is none. */
export function slippage(text: string): number | string {
  const typed = text.trim().replace(',', '.')
  if (!/^\d{1,2}(?:\.\d{1,2})?$/.test(typed)) return 'Slippage is a percentage, as in 0.5.'
  const value = Math.round(Number(typed) * 100)
  if (value < 1 || value > 5000) return 'Slippage is between 0.01 and 50 %.'
  return value
}

export const shortened = (text: string): string => `${text.slice(0, 6)}…${text.slice(-4)}`
