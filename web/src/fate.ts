// What became of the one question to a wallet that batches calls, by its words and the service's orders.

import type { Schemas } from './api'

export type Swap = Schemas['HistoryItem']

/** Answers of a wallet that has shown nothing: methods, parameters or capabilities it does not have. */
const CANNOT = [4100, 4200, -32601, -32602, 5700, 5710, 5740, 5750, 5760]
export const UNKNOWN_ID = 5730

/**
 * What an error of the wallet means. `sent`: the service has an order of it, whatever the wallet says. `cannot` and
 * `declined`: nothing was sent. `unknown`: it may have been, or may still be.
 */
export function answerOf(
  has: readonly unknown[] | undefined,
  { code, isRejection }: { code?: number | undefined; isRejection?: boolean },
): 'sent' | 'cannot' | 'declined' | 'unknown' {
  if (has?.length) return 'sent'
  if (CANNOT.includes(code ?? 0)) return 'cannot'
  return isRejection ? 'declined' : 'unknown'
}

/** Capabilities by chain; `0x0` stands for each chain (EIP-5792). */
export type Capabilities = Record<string, { atomic?: { status?: unknown } } | undefined> | null

/** Whether an account batches calls already; `ready` is one that would first change its code. */
export const isAtomic = (found: Capabilities, chain: string): boolean =>
  (found?.[chain] ?? found?.['0x0'])?.atomic?.status === 'supported'

export interface Told {
  /** 0 if the wallet does not tell, UNKNOWN_ID if it knows no such batch. */
  code: number
  hashes: string[]
}

/**
 * `open`: it may still be sent. `has`: an order is it, and the wallet tells no end yet. `over`: the
 * order decides. `not sent`: it never will be. Or a sentence about what is not as quoted.
 */
export type Fate = 'open' | 'has' | 'over' | 'not sent' | { wrong: string }

const ENDS: readonly string[] = ['confirmed', 'failed', 'cancelled']

/** What became of a batch, by the service's orders and the wallet's words. */
export function fateOf(has: Swap[] | undefined, { code, hashes }: Told, isLate: boolean): Fate {
  if (!has) return 'open'
  if (code === UNKNOWN_ID) return has.length ? 'over' : isLate ? 'not sent' : 'open'
  if (code < 200) {
    const isOver = isLate && has.some(({ status }) => ENDS.includes(status))
    return isOver ? 'over' : has.length ? 'has' : 'open'
  }
  const stray = hashes.find((hash) => !has.some(({ txHash }) => txHash?.toLowerCase() === hash))
  if (stray) {
    return {
      wrong: `Your wallet says that it was transaction ${stray}. No order here is what it was asked for: your wallet may have sent it elsewhere, in public.`,
    }
  }
  if (has.length) return 'over'
  return code < 300 || code >= 600
    ? { wrong: 'Your wallet says that it was done, and no order here is it.' }
    : 'not sent'
}

/** What is told of an earlier question whose end is not known. */
export interface Stuck {
  text: string
  isWrong: boolean
  /** A person may say that they have looked. */
  mayGoOn: boolean
}

const LOOK = 'Look in your wallet and in an explorer before you swap again.'
const ASKED =
  'Your wallet was asked for the swap in one transaction, and it is not known yet whether it sends that.'

export function stuckOf(batch: { until: number } | undefined, fate: Fate | undefined, seen: number): Stuck | undefined {
  if (!batch || fate === 'has' || fate === undefined) return undefined
  const left = Math.ceil((batch.until - seen) / 1_000)
  const isWrong = typeof fate === 'object'
  const end = isWrong || left <= 0 ? LOOK : `If no order appears here, it is refused in ${left} s. Until then no other swap is signed.`
  return { text: `${isWrong ? fate.wrong : ASKED} ${end}`, isWrong, mayGoOn: isWrong || left <= 0 }
}
