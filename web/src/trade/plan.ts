// What is signed for a trade, step by step, and what must hold before the wallet is asked.

import { wrapFaults } from '../../../clients/typescript/src/params'
import { WETH } from '../../../clients/typescript/src/generated/rules'
import { approveData, parse, show, slippage } from '../amounts'
import type { Schemas } from '../api'
import type { Quote } from '../quote'
import { type Asked as Question, isAsAsked } from '../rules'
import type { Token } from '../tokens'
import type { Issued } from '../wallet'
import type { Asked, Trade } from './machine'

/** More ETH than this stays in the wallet when all of it is sold: wrap, approval and swap pay their gas in ETH. */
export const GAS_WEI = 10n ** 16n

/**
 * Most gas of a step that is not the swap, at the fee cap of its quote. The limit of a first wrap is 56,302, that of
 * an unwrap 50,000 (before Amsterdam); their cap is three times the base fee, and that of a swap twice. Limit and fee
 * of an approval are the wallet's own: its figure is an estimate.
 */
const STEP_GAS: Partial<Record<Asked['step'], bigint>> = { wrap: 90_000n, unwrap: 75_000n, reset: 80_000n, approve: 80_000n }

/** Whether the page names the gas limit and the fee cap of a step. */
export const isBounded = ({ name }: Step): boolean => name === 'wrap' || name === 'swap' || name === 'unwrap'

/** Wei that the fees of all steps that are left take at most, by the fee cap of the quote; 0 without one. */
export function mostFees(trade: Trade, canBatch: boolean): bigint {
  if (!trade.quote) return 0n
  const { gasLimit, maxFeePerGas } = trade.quote.mevProtection.transactionParams
  const gas = stepsOf(trade, canBatch).reduce((sum, { name }) => sum + (STEP_GAS[name] ?? BigInt(gasLimit)), 0n)
  return gas * BigInt(maxFeePerGas)
}

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7'

export type Conversion = 'wrap' | 'unwrap'

/** Whether the two tokens are ETH and WETH, and in which order. */
export function conversionOf({ sell, buy }: Pick<Trade, 'sell' | 'buy'>): Conversion | undefined {
  if (!sell || !buy || sell.address !== WETH || buy.address !== WETH) return undefined
  if (sell.wrapped) return buy.wrapped ? undefined : 'wrap'
  return buy.wrapped ? 'unwrap' : undefined
}

/** Smallest units of what is sold, or why there are none. */
export const unitsOf = ({ sell, amount }: Pick<Trade, 'sell' | 'amount'>): bigint | string =>
  sell ? parse(amount, sell.decimals) : 'Choose a token to sell.'

/** What the sources are asked; undefined as long as the form says no swap. */
export function questionOf(trade: Trade): (Question & { slippageBps: string }) | undefined {
  const { sell, buy } = trade
  const [units, bps] = [unitsOf(trade), slippage(trade.slippage)]
  if (!sell || !buy || sell.address === buy.address) return undefined
  if (typeof units === 'string' || typeof bps === 'string') return undefined
  return { sellToken: sell.address, buyToken: buy.address, sellAmount: String(units), slippageBps: String(bps) }
}

export interface Step {
  name: Asked['step']
  /** As in the list of steps. */
  title: string
  /** As in "approve exactly 1.5 WETH". */
  label: string
}

/** What is left to sign for the quote of a trade, in order. */
export function stepsOf(trade: Trade, canBatch: boolean): Step[] {
  const { sell, buy, quote } = trade
  const units = unitsOf(trade)
  if (!sell || !buy || typeof units === 'string') return []
  const amount = show(units, sell.decimals)
  const conversion = conversionOf(trade)
  const wrap = { name: 'wrap', title: `Wrap ${amount} ETH`, label: `wrap ${amount} ETH` } as const
  if (conversion === 'wrap') return [wrap]
  if (conversion) return [{ name: 'unwrap', title: `Unwrap ${amount} WETH`, label: `unwrap ${amount} WETH` }]
  if (!quote) return []
  if (canBatch && !trade.isSeparate && !sell.wrapped) {
    return [{ name: 'batch', title: 'Approve and swap', label: `approve and swap ${amount} ${sell.symbol}` }]
  }
  const steps: Step[] = [...allowanceSteps(quote, sell, units), { name: 'swap', title: 'Swap', label: `swap ${amount} ${sell.symbol}` }]
  if (sell.wrapped) steps.unshift(wrap)
  if (buy.wrapped) steps.push({ name: 'unwrap', title: 'Unwrap', label: 'unwrap what arrived' })
  return steps
}

/** Approve what is sold; USDT takes a new allowance only after the old one is zero. */
function allowanceSteps({ issues }: Quote, sell: Token, units: bigint): Step[] {
  if (!issues.allowance) return []
  const amount = `${show(units, sell.decimals)} ${sell.wrapped?.symbol ?? sell.symbol}`
  const approve: Step = { name: 'approve', title: `Approve ${amount}`, label: `approve exactly ${amount}` }
  if (sell.address !== USDT || issues.allowance.actual === '0') return [approve]
  const old = `${show(issues.allowance.actual, sell.decimals)} ${sell.symbol}`
  return [{ name: 'reset', title: 'Reset old allowance', label: `reset the old ${old}` }, approve]
}

/** The transaction of a step of a quote. Raises an Error whose message says why nothing is sent. */
export function transactionOf(step: Asked['step'], trade: Trade): Issued {
  const { quote } = trade
  const question = questionOf(trade)
  if (!quote || !question) throw new Error('There is no quote any more. Nothing was sent.')
  const fault = isAsAsked(quote, question)
  if (fault !== undefined) throw new Error(`${fault} Nothing was sent.`)
  if (step === 'swap' || step === 'batch') return quote.mevProtection.transactionParams
  const spender = quote.issues.allowance?.spender
  if (spender !== quote.dexRoute.target) {
    throw new Error('The quote names another spender than its router. Nothing was sent.')
  }
  const units = step === 'reset' ? 0n : BigInt(question.sellAmount)
  return { to: question.sellToken, data: approveData(spender, units), value: '0' }
}

/** The transaction of a conversion. Raises an Error whose message says why nothing is sent. */
export function conversionTransaction(
  quote: Schemas['WrapQuoteResponse'],
  operation: Conversion,
  units: bigint,
): Issued {
  const faults = wrapFaults(quote, operation, units)
  if (faults.length) throw new Error(`The transaction has ${faults.join(', ')}. Nothing was sent.`)
  const { nonce: _, ...tx } = quote.mevProtection.transactionParams
  return tx
}

/** The loss that is asked about before a trade is signed. */
export const lossOf = (trade: Trade): Schemas['LossJudgement'] | undefined =>
  conversionOf(trade) ? trade.wrap?.loss : trade.quote?.loss
