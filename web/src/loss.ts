// What may be lost: nothing to do, a notice, a sentence to confirm, or the loss to type. The service judges it.

import type { Schemas } from './api'

export type Loss = Schemas['LossJudgement']

export const YES = 'yes'

/** Whole percent, rounded up: what is typed. */
export const wholePercent = (loss: Loss): number => Math.ceil(loss.bps / 100)

/** Whether `consent`, as the person gave it, covers a loss: a typed percentage also covers less. */
export function isConsented(loss: Loss, consent: string): boolean {
  if (loss.level === 'none' || loss.level === 'notice') return true
  if (loss.level === 'confirm') return consent === YES
  const typed = /^\s*(\d{1,3})\s*%?\s*$/.exec(consent)?.[1]
  return typed !== undefined && Number(typed) >= wholePercent(loss) && Number(typed) <= 100
}
