// What must hold before the wallet is asked to sign.

import { checkParams } from '../../clients/typescript/src/params'
import type { Quote } from './quote'

export interface Asked {
  sellToken: string
  buyToken: string
  sellAmount: string
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
