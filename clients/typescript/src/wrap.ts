/** The wrap flow: quote, check, set the nonce, sign, submit, wait for the receipt. */
import { requireKnown, requireNonce, requirePercent, type Members } from "./arguments.js";
import { minedReceipt, type OutcomeWatch } from "./finality.js";
import { NonceMismatch, QuoteDeclined, UnsafeQuote } from "./flow-errors.js";
import { WETH } from "./generated/rules.js";
import { acceptedBps, judgeWrap, requireConsent, type Confirm, type Loss } from "./loss.js";
import {
  CHAIN_ID,
  LATEST,
  answered,
  balanceData,
  balanceOf,
  baseFee,
  callOf,
  estimateGas,
  nonceCall,
  nonceOf,
  paymentReads,
  requireEth,
  requireMainnet,
  requireSuccess,
  viewCall,
  type Receipt,
} from "./node.js";
import { requireNoOpenOrder } from "./open-orders.js";
import { throwOutcome } from "./outcome.js";
import { retryTransient, unrecorded, type Context, type Recording } from "./polling.js";
import { wrapFaults } from "./params.js";
import { requireCost, type SwapTerms } from "./quote-checks.js";
import { checkFee } from "./quoting.js";
import { oneMoment, readAhead } from "./rpc-batch.js";
import { hashOf, requireSame, sign, toSign, type Signer } from "./signing.js";
import { send, type Call, type Transport } from "./transport.js";
import type { Hex, Schemas } from "./types.js";
import type { WrapOperation, WrapOrder, WrapQuote } from "./types.js";

export interface WrapOptions {
  /** Needed with a signing function. */
  readonly wallet?: string | undefined;
  /** Without it the next nonce of the caller's own node; needed without a node. */
  readonly nonce?: number | undefined;
  /** Allow the transaction to use the nonce of an open order. */
  readonly replace?: boolean | undefined;
  /** Called with the quote before signing; false declines it. */
  readonly accept?: ((quote: WrapQuote) => boolean | Promise<boolean>) | undefined;
  /** Gas to accept, in percent of the amount. By default more than a tenth is declined. */
  readonly maxLossPercent?: number | undefined;
  /** The highest gas cost to sign for; without it, no limit. */
  readonly maxFeeWei?: bigint | undefined;
  /** Asked after `accept` about gas that would be declined; false declines it. */
  readonly confirm?: Confirm<WrapQuote> | undefined;
  readonly watch?: ((event: WrapEvent) => void) | undefined;
}

/** What to convert: `amount` in ETH, as a decimal string. */
export interface WrapTerms extends WrapOptions {
  readonly operation: WrapOperation;
  readonly amount: string;
  readonly wallet: string;
}

const MEMBERS: Members<WrapTerms> = {
  operation: true,
  amount: true,
  wallet: true,
  nonce: true,
  replace: true,
  accept: true,
  maxLossPercent: true,
  maxFeeWei: true,
  confirm: true,
  watch: true,
};

/** What a wrap reports while it runs; exactly one member is present. */
export type WrapEvent =
  | { readonly quote: WrapQuote }
  | { readonly submitted: WrapOrder }
  | { readonly receipt: Receipt }
  | { readonly watching: OutcomeWatch };

/** The result of a wrap or unwrap. `receipt` is undefined without a node. */
export interface WrapResult {
  readonly quote: WrapQuote;
  readonly order: WrapOrder;
  readonly receipt: Receipt | undefined;
}

/** A decimal ETH amount in wei: digits and at most 18 decimals. Throws RangeError. */
export function toWei(amount: string): bigint {
  const read = typeof amount === "string" && /^([0-9]{1,60})(?:\.([0-9]{1,18}))?$/.exec(amount);
  const [, whole, part = ""] = read || [];
  const wei = whole === undefined ? 0n : BigInt(whole + part.padEnd(18, "0"));
  if (wei === 0n)
    throw new RangeError(`amount must be a text: a positive amount of ETH with at most 18 decimals, not ${amount}`);
  return wei;
}

/** Wei as a decimal ETH amount. */
export function fromWei(wei: bigint): string {
  const text = String(wei).padStart(19, "0");
  return `${text.slice(0, -18)}.${text.slice(-18)}`.replace(/\.?0+$/, "");
}

/** Refuse a quote that is not exactly the requested conversion. Throws UnsafeQuote. */
export function checkWrapQuote(quote: WrapQuote, operation: WrapOperation, amount: string): void {
  const found = wrapFaults(quote, operation, toWei(amount));
  if (found.length) throw new UnsafeQuote(`the quote has ${found.join(", ")}`);
}

export const wrapQuoteCall = (operation: WrapOperation, amount: string, userAddress: string): Call<WrapQuote> => ({
  path: "/mev/wrap/quote",
  body: { operation, amount, userAddress, chainId: 1 } satisfies Schemas["WrapQuoteBody"],
  member: "quote",
  answer: "WrapQuoteEnvelope",
});

/**
 * The most that the gas of a conversion may cost, in wei, by its own checked quote, and what is lost for it.
 * Throws UnsafeQuote, and QuoteDeclined for more than the request allows.
 */
export async function plannedConversion(
  context: Context,
  operation: WrapOperation,
  wei: bigint,
  { wallet, maxFeeWei }: SwapTerms,
): Promise<{ conversionGasWei: bigint; loss: Loss }> {
  const amount = fromWei(wei);
  const quote = await send(context.io, wrapQuoteCall(operation, amount, wallet));
  checkWrapQuote(quote, operation, amount);
  await checkFee(context, quote.mevProtection.transactionParams);
  const conversionGasWei = requireGas(quote, maxFeeWei);
  return { conversionGasWei, loss: await judged(context.io, quote, wallet) };
}

/** Return the most that the gas of a quote may cost, in wei. Throws QuoteDeclined for more than `most`. */
function requireGas({ operation, mevProtection }: WrapQuote, most: bigint | null): bigint {
  const { gasLimit, maxFeePerGas } = mevProtection.transactionParams;
  const cost = BigInt(gasLimit) * BigInt(maxFeePerGas);
  requireCost(cost, most, `the gas of the ${operation}`);
  return cost;
}

/** Submit a signed quote; repeating it creates no second order. Throws TransactionHashMismatch. */
export async function submitWrap(io: Transport, quote: WrapQuote, signedTransaction: Hex): Promise<WrapOrder> {
  const { operation, quoteId, amount, mevProtection } = quote;
  const { providerMetadata } = mevProtection;
  const body: Schemas["WrapOrderBody"] = { operation, signedTransaction, providerMetadata, quoteId, amount };
  const call: Call<WrapOrder> = { path: "/mev/wrap/order", body, member: "order", answer: "WrapOrderEnvelope" };
  const order = await send(io, call);
  requireSame(hashOf(signedTransaction), order.txHash);
  return order;
}

/**
 * Run the whole flow; `recording` is called with what was signed before it is submitted. Before signing, throws UnsafeQuote, NonceMismatch and QuoteDeclined; while
 * submitting, TransactionHashMismatch and AfterSubmission; while waiting, TransactionFailed,
 * TransactionReplaced or OrderStillOpen.
 */
export async function convert(
  context: Context,
  request: WrapTerms,
  signer: Signer,
  recording: Recording = unrecorded,
): Promise<WrapResult> {
  const { io } = context;
  requireKnown(request, MEMBERS);
  const { operation, amount, wallet, watch = () => undefined } = request;
  if (!io.hasNode && request.nonce === undefined)
    throw new RangeError(`${operation} needs rpcUrl for the wallet's next nonce, or nonce`);
  toWei(amount);
  requireNonce(request.nonce);
  requirePercent("maxLossPercent", request.maxLossPercent);
  const quote = await send(io, wrapQuoteCall(operation, amount, wallet));
  checkWrapQuote(quote, operation, amount);
  requireGas(quote, request.maxFeeWei ?? null);
  const params = quote.mevProtection.transactionParams;
  const now = oneMoment(io);
  if (io.hasNode) {
    const used = request.nonce === undefined ? [] : [nonceCall(wallet, "latest")];
    await readAhead(now, [CHAIN_ID, LATEST, nonceCall(wallet), ...used, ["eth_estimateGas", [callOf(wallet, params)]]]);
    await requireMainnet(now);
    await checkFee({ ...context, io: now }, params);
  }
  const nonce = request.nonce ?? (await nonceOf(now, wallet));
  const mismatch = io.hasNode && request.nonce !== undefined ? await nonceFault(now, nonce, request) : undefined;
  const loss = await judged(now, quote, wallet);
  if (!request.replace)
    await requireNoOpenOrder(context, wallet, `the ${operation}`, { from: nonce, to: nonce + 1 });
  if (mismatch) throw mismatch;
  const { confirm } = request;
  watch({ quote });
  const consent = () => requireConsent(loss, acceptedBps(request.maxLossPercent), quote, confirm);
  if (!confirm) await consent();
  if (request.accept && !(await request.accept(quote))) throw new QuoteDeclined("the quote was not accepted");
  if (confirm) await consent();
  if (io.hasNode) {
    const accepted = oneMoment(io);
    const weth = operation === "unwrap" ? [viewCall(WETH, balanceData(wallet))] : [];
    await readAhead(accepted, [...paymentReads(wallet, params), ...weth]);
    await requireFunds(accepted, quote, wallet);
    await requireSuccess(accepted, `the ${operation}`, wallet, params);
  }
  const signed = await sign(toSign(params, nonce), signer, wallet);
  const sent = await recording({ what: `the ${operation}`, txHash: hashOf(signed), wallet, nonce });
  let order: WrapOrder;
  try {
    order = await retryTransient(context, () => submitWrap(io, quote, signed));
  } catch (error) {
    return throwOutcome(context, error, sent, (watching) => watch({ watching }));
  }
  watch({ submitted: order });
  if (!io.hasNode) return { quote, order, receipt: undefined };
  const receipt = await minedReceipt(context, sent);
  watch({ receipt });
  return { quote, order, receipt };
}

/** What is lost for gas: by the own node's estimate and base fee, without one at the fee cap. */
async function judged(io: Transport, quote: WrapQuote, wallet: string): Promise<Loss> {
  const params = quote.mevProtection.transactionParams;
  if (!io.hasNode) return judgeWrap(quote, BigInt(params.maxFeePerGas));
  const fee = await baseFee(io);
  const gas = await answered(estimateGas(io, callOf(wallet, params)));
  return judgeWrap(quote, fee, gas);
}

/**
 * What is wrong with a nonce that is used, or that leaves a gap. A node does not count private orders, so
 * `replace` permits a nonce behind those.
 */
async function nonceFault(io: Transport, nonce: number, { wallet, replace }: WrapTerms): Promise<NonceMismatch | undefined> {
  if (nonce < (await nonceOf(io, wallet, "latest")))
    return new NonceMismatch(`by your own node, nonce ${nonce} is used already`);
  const following = await nonceOf(io, wallet);
  if (nonce <= following || replace) return undefined;
  return new NonceMismatch(
    `by your own node, the wallet's next nonce is ${following}: with ${nonce} it would wait for the nonces between`,
  );
}

/** Refuse an amount above the balance at the caller's own node. Throws QuoteDeclined. */
async function requireFunds(io: Transport, quote: WrapQuote, wallet: string): Promise<void> {
  if (quote.operation === "unwrap") {
    const held = await balanceOf(io, WETH, wallet);
    const needed = BigInt(quote.amountWei);
    if (held < needed) throw new QuoteDeclined(`the wallet holds ${held} of ${needed} wei of WETH`);
  }
  await requireEth(io, wallet, quote.mevProtection.transactionParams);
}
