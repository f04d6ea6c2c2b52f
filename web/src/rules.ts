// What is asked for, and which of two quotes for it is worse.

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
