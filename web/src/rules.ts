// What must hold before the wallet is asked to sign.

import { show } from './amounts'
import { checkParams } from '../../clients/typescript/src/params'
import { NOT_PRIVATE, type Privacy } from './connect'
import type { Quote } from './quote'
import type { Token } from './tokens'

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7'

/** What to approve: what is sold; for USDT first zero, where another amount is approved. */
export function approvedAmount(issue: { actual: string }, asked: Asked | undefined): bigint {
  const isReset = asked?.sellToken === USDT && issue.actual !== '0'
  return isReset ? 0n : BigInt(asked?.sellAmount ?? 0)
}

export interface Asked {
  sellToken: string
  buyToken: string
  sellAmount: string
}

/** Why the swap button is off; undefined when it is on. */
export function whyNot(
  privacy: Privacy,
  issues: Quote['issues'] | undefined,
  sell: Token | undefined,
): string | undefined {
  if (privacy !== 'private') return NOT_PRIVATE[privacy]
  if (issues?.balance && sell) {
    return `Your wallet has ${show(issues.balance.actual, sell.decimals, 6)} ${sell.symbol}.`
  }
  if (issues?.allowance) return 'The router may not move this amount yet.'
  if (issues?.gas) return `Your wallet has too little ETH for gas: ${show(issues.gas.actual, 18, 6)}.`
  return undefined
}

/** Whether a quote is worse than another one that the person has seen. */
export function isWorse(quote: Quote, seen: Quote): boolean {
  const unknown = (one: Quote): boolean => one.loss.causes.some(({ bps }) => bps === null)
  return (
    BigInt(quote.minBuyAmount) < BigInt(seen.minBuyAmount) ||
    LEVELS.indexOf(quote.loss.level) > LEVELS.indexOf(seen.loss.level) ||
    (unknown(quote) && !unknown(seen))
  )
}

const LEVELS = ['none', 'notice', 'confirm', 'type']

/** What a quote has that was not asked for; undefined if nothing. */
export function isAsAsked(
  quote: Quote,
  asked: Asked | undefined,
): string | undefined {
  const { transactionParams: tx } = quote.mevProtection
  const isSame =
    asked !== undefined &&
    quote.sellToken === asked.sellToken &&
    quote.buyToken === asked.buyToken &&
    quote.sellAmount === asked.sellAmount
  if (!isSame) return 'The quote is for another swap.'
  if (tx.value !== '0' || tx.to !== quote.dexRoute.target || tx.data !== quote.dexRoute.data) {
    return 'The transaction is not the route of the quote.'
  }
  const faults = checkParams(tx)
  return faults.length ? `The transaction has ${faults.join(', ')}.` : undefined
}
