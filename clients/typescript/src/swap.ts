/** The swap flow: quote, check, approve, simulate, sign, submit, follow, and read what was received. */
import type { ApprovalSent, Approved } from "./approvals.js";
import { ApiError } from "./errors.js";
import type { OutcomeWatch } from "./finality.js";
import type { Outcome, Submitted } from "./flow-errors.js";
import { newestBlock, received, type Receipt } from "./node.js";
import { judgeRecord } from "./order-end.js";
import { orderOf, rememberRefused, throwOutcome } from "./outcome.js";
import { approvedPlan, requireConsentAgain, tried } from "./plan.js";
import { followOrder, patienceOf, remember, requireTradeScope, retryTransient, unrecorded, type Context, type Recording } from "./polling.js";
import { type SwapTerms } from "./quote-checks.js";
import { hashOf, requireSame, sign, toSign, type Signer } from "./signing.js";
import type { SwapSimulation } from "./simulation.js";
import type { SwapPlan } from "./swap-plan.js";
import type { TradeStep } from "./trade.js";
import { send, type Call, type Transport } from "./transport.js";
import type { Hex, OrderStatus, Schemas, SwapOrder, SwapQuote } from "./types.js";

const ORDER_LIFE_S = 30 * 60;
const THREAT_SCORE: Record<string, number> = { LOW: 20, MEDIUM: 55, HIGH: 90 };

/** What a swap reports while it runs; exactly one member is present. */
export type SwapEvent =
  | { readonly quote: SwapQuote }
  | { readonly plan: SwapPlan }
  | { readonly approvalSent: ApprovalSent }
  | { readonly approved: Approved }
  | { readonly simulation: SwapSimulation }
  | { readonly submitted: SwapOrder }
  /** What the service reports: a claim, also where it is final, until `swap` returns. */
  | { readonly status: OrderStatus }
  | { readonly watching: OutcomeWatch }
  /** Of a swap with ETH. */
  | { readonly tradeStep: TradeStep };

/**
 * The result of a swap. `received` is what the wallet gained of the buy token by the receipt of the
 * caller's own node, in smallest units; `fate` is the transaction's outcome there. Both are undefined
 * without a node. Of a swap with ETH `trade` names it for `resume`, and `conversion` is the receipt of its
 * wrap or unwrap.
 */
export class SwapResult {
  declare readonly quote: SwapQuote;
  declare readonly approvals: readonly Approved[];
  declare readonly status: OrderStatus;
  declare readonly received: bigint | undefined;
  declare readonly fate: Outcome | undefined;
  declare readonly trade: string | undefined;
  declare readonly conversion: Receipt | undefined;

  constructor(
    quote: SwapQuote,
    approvals: readonly Approved[],
    status: OrderStatus,
    received?: bigint | undefined,
    fate?: Outcome | undefined,
    trade?: string | undefined,
    conversion?: Receipt | undefined,
  ) {
    this.quote = quote;
    this.approvals = approvals;
    this.status = status;
    this.received = received;
    this.fate = fate;
    this.trade = trade;
    this.conversion = conversion;
  }

  /** Confirmed, and not less than the minimum received. Without a node only the service says so. */
  get succeeded(): boolean {
    return this.status.status === "confirmed" && !this.fellShort;
  }

  /** Mined, and less than the minimum received. */
  get fellShort(): boolean {
    return this.received !== undefined && this.received < BigInt(this.quote.minBuyAmount);
  }

  /** A failed or cancelled order may still be mined, unless the own node rules it out. */
  get mayBeMined(): boolean {
    return this.status.status !== "confirmed" && this.fate !== "reverted" && this.fate !== "replaced";
  }
}

/** The call that submits a signed quote; repeating it creates no second order. */
export function submitOrderCall(quote: SwapQuote, request: SwapTerms, signed: Hex): Call<SwapOrder> {
  const unixMs = Date.now();
  const { providerMetadata } = quote.mevProtection;
  const { threatLevel, estimatedProtectionUsd } = quote.mevAnalysis;
  const body: Schemas["SwapOrderBody"] = {
    orderParams: {
      fromToken: quote.sellToken,
      toToken: quote.buyToken,
      amount: quote.sellAmount,
      minReturnAmount: quote.minBuyAmount,
      userAddress: request.wallet,
      chainId: 1,
      deadline: Math.floor(unixMs / 1000) + ORDER_LIFE_S,
      slippageBps: request.slippageBps,
      selectedTier: providerMetadata.tier ?? 2,
      threatAnalysis: {
        threatScore: THREAT_SCORE[threatLevel] ?? 50,
        threatLevel,
        confidence: quote.verification?.status === "verified" ? 1 : 0.5,
        riskFactors: [],
        estimatedSavings: { estimatedProtection: { amount: estimatedProtectionUsd, currency: "USD" } },
        timestamp: unixMs,
      },
      transactionValueUsd: quote.scoring.netValueUsd,
      dexRoute: {
        source: quote.source,
        target: quote.dexRoute.target,
        data: quote.dexRoute.data,
        estimatedGas: quote.estimatedGas,
      },
    },
    signedTransaction: signed,
    providerMetadata,
  };
  return { path: "/mev/orders", body, answer: "SwapOrderEnvelope" };
}

/** Submit a signed quote once. Throws TransactionHashMismatch. */
export async function submitOrder(io: Transport, call: Call<SwapOrder>, txHash: string): Promise<SwapOrder> {
  const answer = await send(io, call);
  requireSame(txHash, answer.order.txHash);
  return answer;
}

interface Accepted {
  readonly orderId: string;
  readonly intervalS?: number;
  readonly endsInS?: number | undefined;
}

/**
 * Submit the signed quote. If no answer arrives, the same bytes are submitted again: they are always
 * one order, and SIGNATURE_REPLAY then names it. Throws TransactionHashMismatch.
 */
function submit(
  context: Context,
  call: Call<SwapOrder>,
  txHash: string,
  watch: (event: SwapEvent) => void,
): Promise<Accepted> {
  return retryTransient(context, async (attempt) => {
    try {
      const submitted = await submitOrder(context.io, call, txHash);
      const { order, tracking } = submitted;
      watch({ submitted });
      const endsInS = (Date.parse(order.expiresAt) - Date.now()) / 1000;
      return {
        orderId: order.orderId,
        intervalS: tracking.pollingInterval,
        endsInS: Number.isFinite(endsInS) ? endsInS : undefined,
      };
    } catch (error) {
      const isReplay = attempt > 1 && error instanceof ApiError && error.code === "SIGNATURE_REPLAY";
      const orderId = isReplay ? orderOf(error) : undefined;
      if (orderId === undefined) throw error;
      return { orderId };
    }
  });
}

/**
 * Run the whole flow. A reverted or cancelled order is a result, not an error. Throws ApiError
 * FORBIDDEN before anything is signed if the key may not trade,
 * StatusContradiction when the own node contradicts the final status, and AfterSubmission when the
 * service refuses or fails after it received the signed bytes.
 */
export async function swap(
  context: Context,
  request: SwapTerms,
  signer: Signer,
  watch: (event: SwapEvent) => void,
): Promise<SwapResult> {
  // loaded before anything is signed: a swap must not fail for it after an approval was paid
  if (context.io.hasNode) await import("./simulation.js");
  await requireTradeScope(context);
  const { plan, approvals } = await approvedPlan(context, request, signer, watch);
  return signPlan(context, plan, approvals, signer, watch);
}

/**
 * Try an accepted plan at the own node, sign its swap, submit it, and follow it to its end. `recording` is
 * called with what was signed before it is submitted.
 */
export async function signPlan(
  context: Context,
  plan: SwapPlan,
  approvals: readonly Approved[],
  signer: Signer,
  watch: (event: SwapEvent) => void,
  recording: Recording = unrecorded,
): Promise<SwapResult> {
  const { io, polling } = context;
  const { quote, request } = plan;
  if (io.hasNode) {
    const trial = await tried(context, plan, newestBlock(approvals));
    if (trial.trial) watch({ simulation: trial.trial });
    await requireConsentAgain(trial, plan.loss);
  }
  const transaction = toSign(quote.mevProtection.transactionParams);
  const signed = await sign(transaction, signer, request.wallet);
  const call = submitOrderCall(quote, request, signed);
  const { wallet, sellToken } = request;
  const sold = { sellToken, sellAmount: quote.sellAmount };
  let sent = await recording({ what: "the swap", txHash: hashOf(signed), wallet, nonce: transaction.nonce, ...sold });
  let status: OrderStatus;
  try {
    const { orderId, intervalS, endsInS } = await submit(context, call, sent.txHash, watch);
    sent = { ...sent, orderId };
    remember(context.orders, orderId, sent);
    const patient = { ...context, polling: { ...polling, patienceS: patienceOf(polling, endsInS) } };
    status = await followOrder(patient, orderId, (record) => watch({ status: record }), intervalS, sent.txHash);
  } catch (error) {
    sent = rememberRefused(context.orders, sent, error);
    return throwOutcome(context, error, sent, (watching) => watch({ watching }));
  }
  if (!io.hasNode) return new SwapResult(quote, approvals, withTerms(status, quote));
  return settled(context, request, { quote, approvals, status, sent }, watch);
}

/** The record with what was signed, whatever the service says of it. */
function withTerms(record: OrderStatus, quote: SwapQuote): OrderStatus {
  const { sellToken: fromToken, buyToken: toToken, sellAmount: amount, minBuyAmount: minReturnAmount } = quote;
  return { ...record, orderParams: { ...record.orderParams, fromToken, toToken, amount, minReturnAmount } };
}

interface Ended {
  readonly quote: SwapQuote;
  readonly approvals: readonly Approved[];
  readonly status: OrderStatus;
  readonly sent: Submitted;
}

/** Compare the final status with the caller's own node. */
async function settled(
  context: Context,
  request: SwapTerms,
  { quote, approvals, status, sent }: Ended,
  watch: (event: SwapEvent) => void,
): Promise<SwapResult> {
  if (status.status !== "confirmed") {
    const seconds = context.polling.doubtS;
    watch({ watching: { why: `the service reports ${status.status}`, sent, seconds } });
  }
  const end = await judgeRecord(context, status, sent);
  if (status.status === "confirmed" || end.isContradicted) end.requireCertainty(sent);
  const { fate, receipt } = end;
  const gained = receipt && end.confirmed ? received(receipt, request.buyToken, request.wallet) : undefined;
  return new SwapResult(quote, approvals, withTerms(end.ownRecord, quote), gained, fate);
}
