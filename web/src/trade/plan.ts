// What is signed for a trade, step by step, and what must hold before the wallet is asked.

import { ClientError } from '../../../clients/typescript/src/errors'
import { wrapFaults } from '../../../clients/typescript/src/params'
import { WETH } from '../../../clients/typescript/src/generated/rules'
import { approvalData, batchOf, checkBatch, withParams } from '../../../clients/typescript/src/batch'
import { parse, show, slippage } from '../amounts'
import type { Schemas } from '../api'
import type { Quote } from '../quote'
import { checkQuote } from '../../../clients/typescript/src/quote-checks'
import type { Asked as Question } from '../rules'
import type { Token } from '../tokens'
import type { Issued } from '../wallet'
import type { Asked, Trade } from './machine'

/** More ETH than this stays in the wallet when all of it is sold: wrap, approval and swap pay their gas in ETH. */
export const GAS_WEI = 10n ** 16n

/**
 * Gas of a step that is not the swap, at the fee cap of its quote: an estimate. Limit and fee of an approval are the
 * wallet's own. Those of a wrap or unwrap are of its own quote, as soon as it is there: from Amsterdam on, a first
 * wrap takes more than it did.
 */
const STEP_GAS: Partial<Record<Asked['step'], bigint>> = { wrap: 90_000n, unwrap: 75_000n, reset: 80_000n, approve: 80_000n }

const isConverting = ({ name }: Step): boolean => name === 'wrap' || name === 'unwrap'

const OWN_FEE: ReadonlyArray<Step['name']> = ['reset', 'approve', 'batch']

/** Wei that the fees of all steps that are left take at most, by the quotes that are there; 0 without one. */
export function mostFees(trade: Trade, canBatch: boolean): bigint {
  const { quote, conversionGasWei } = trade
  if (!quote) return 0n
  const costOf = (step: Step): bigint => {
    if (isConverting(step) && conversionGasWei !== undefined) return conversionGasWei
    const batched = step.name === 'batch' ? quote.batch?.transactionParams : undefined
    const { gasLimit, maxFeePerGas } = batched ?? quote.mevProtection.transactionParams
    return (STEP_GAS[step.name] ?? BigInt(gasLimit)) * BigInt(maxFeePerGas)
  }
  return stepsOf(trade, canBatch).reduce((sum, step) => sum + costOf(step), 0n)
}

/** How certain that figure is: the page names limit and fee of a swap, and of a conversion by its quote; of others the wallet does. */
export function boundOf(trade: Trade, canBatch: boolean): 'at most' | 'usually at most' | 'about' {
  const steps = stepsOf(trade, canBatch)
  if (trade.conversionGasWei === undefined && steps.some(isConverting)) return 'about'
  return steps.some(({ name }) => OWN_FEE.includes(name)) ? 'usually at most' : 'at most'
}

/** The wrap or unwrap beside the swap of a quote, with its smallest units; undefined without one. */
export function conversionBeside(trade: Trade): readonly [Conversion, bigint] | undefined {
  const [conversion, { quote }] = [etherIn(trade), trade]
  if (!quote || !conversion) return undefined
  return [conversion, BigInt(conversion === 'wrap' ? quote.sellAmount : quote.minBuyAmount)]
}

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7'

export type Conversion = 'wrap' | 'unwrap'

/** Whether the two tokens are ETH and WETH, and in which order. */
export function conversionOf({ sell, buy }: Pick<Trade, 'sell' | 'buy'>): Conversion | undefined {
  if (!sell || !buy || sell.address !== WETH || buy.address !== WETH) return undefined
  if (sell.wrapped) return buy.wrapped ? undefined : 'wrap'
  return buy.wrapped ? 'unwrap' : undefined
}

/** What a swap does with ETH beside it; undefined for one without. */
const etherIn = ({ sell, buy }: Pick<Trade, 'sell' | 'buy'>): Conversion | undefined =>
  sell?.wrapped ? 'wrap' : buy?.wrapped ? 'unwrap' : undefined

/** Smallest units of what is sold, or why there are none. */
export const unitsOf = ({ sell, amount }: Pick<Trade, 'sell' | 'amount'>): bigint | string =>
  sell ? parse(amount, sell.decimals) : 'Choose a token to sell.'

/** What the sources are asked; undefined as long as the form says no swap. */
export function questionOf(trade: Trade): (Question & { slippageBps: string; conversion?: Conversion }) | undefined {
  const { sell, buy } = trade
  const [units, bps] = [unitsOf(trade), slippage(trade.slippage)]
  if (!sell || !buy || sell.address === buy.address) return undefined
  if (typeof units === 'string' || typeof bps === 'string') return undefined
  const conversion = etherIn(trade)
  const eth = conversion && { conversion }
  return { sellToken: sell.address, buyToken: buy.address, sellAmount: String(units), slippageBps: String(bps), ...eth }
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
  const unwrap: Step[] = buy.wrapped ? [{ name: 'unwrap', title: 'Unwrap', label: 'unwrap what arrived' }] : []
  if (canBatch && !trade.isSeparate) {
    const title = { wrap: 'Wrap, approve and swap', unwrap: 'Approve, swap and unwrap', '': 'Approve and swap' }[etherIn(trade) ?? '']
    return [{ name: 'batch', title, label: `${title.toLowerCase()} ${amount} ${sell.symbol}` }]
  }
  const steps: Step[] = [...allowanceSteps(quote, sell, units), { name: 'swap', title: 'Swap', label: `swap ${amount} ${sell.symbol}` }]
  if (sell.wrapped) steps.unshift(wrap)
  return [...steps, ...unwrap]
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

/**
 * The transaction of a step of a quote for a wallet. The TypeScript client decides whether it may be signed: by its
 * calldata, a known router enforces both tokens, the amount, the minimum and the wallet as the receiver. `settlers`
 * are 0x's genuine ones. Raises an Error whose message says why nothing is sent.
 */
export function transactionOf(step: Asked['step'], trade: Trade, wallet: string, settlers: readonly string[]): Issued {
  const { quote } = trade
  const question = questionOf(trade)
  if (!quote || !question) throw new Error('There is no quote any more. Nothing was sent.')
  const { sellAmount, slippageBps, conversion, ...pair } = question
  const units = { sellAmount: BigInt(sellAmount), slippageBps: Number(slippageBps), maxFeeWei: null }
  const terms = { ...pair, ...units, wallet, approval: 'exact', batchConversion: conversion } as const
  const batched = step === 'batch' ? quote.batch?.transactionParams : undefined
  if (step === 'batch' && !batched) throw new Error('The quote is not for one transaction any more. Nothing was sent.')
  try {
    if (batched) checkBatch(withParams(quote, batched), terms, settlers)
    else checkQuote(quote, terms, settlers)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const { reason } = error as ClientError & { reason?: string }
    throw new Error(`This quote may not be signed: ${reason ?? error.message}. Nothing was sent.`)
  }
  if (step === 'swap' || batched) return batched ?? quote.mevProtection.transactionParams
  const spender = quote.issues.allowance?.spender
  if (spender !== quote.dexRoute.target) {
    throw new Error('The quote names another spender than its router. Nothing was sent.')
  }
  return { to: question.sellToken, data: approvalData(spender, step === 'reset' ? 0n : units.sellAmount), value: '0' }
}

/** The calls that a wallet is asked for in one transaction, by the form: no word of the quote adds one. */
export const callsOf = (trade: Trade, quote: Quote): ReturnType<typeof batchOf> => batchOf(quote, etherIn(trade))

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
