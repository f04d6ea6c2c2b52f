/** Requests for quotes that pass the checks, are accepted, fresh, and covered by balance and allowance. */
import type { ApprovalSent, Approved } from "./approvals.js";
import { NonceMismatch, QuoteDeclined, UnsafeQuote } from "./flow-errors.js";
import { FEE_HEADROOM, FEE_MULTIPLE, FRESH_S, SETTLERS } from "./generated/rules.js";
import { judgeQuote, mostBps, needsReference, requireConsent } from "./loss.js";
import {
  CHAIN_ID,
  LATEST,
  allowanceData,
  allowanceOf,
  answered,
  balanceData,
  balanceOf,
  baseFee,
  blockSince,
  etherCall,
  isAddress,
  latestBlock,
  newestBlock,
  nonceCall,
  nonceOf,
  requireEth,
  requireMainnet,
  view,
  viewCall,
} from "./node.js";
import type { Funds } from "./open-orders.js";
import { BACKENDS, type Context } from "./polling.js";
import { ALLOWANCE_HOLDER, checkQuote, checkUnsimulated, type SwapTerms } from "./quote-checks.js";
import { textOf, type Json } from "./reading.js";
import { oneMoment, readAhead, type RpcCall } from "./rpc-batch.js";
import type { Signer } from "./signing.js";
import { send, type Call, type Transport } from "./transport.js";
import type { SwapQuote, TransactionParams } from "./types.js";

const MOST_QUOTES = 10;
/** Most approvals in one swap; each fresh quote may name another source's router. */
const MOST_ROUTERS = 5;
const LAGGING_QUOTES = 5;

export type QuoteWatch = (
  event: { quote: SwapQuote } | { approvalSent: ApprovalSent } | { approved: Approved },
) => void;

export const swapQuoteCall = (request: SwapTerms): Call<SwapQuote> => ({
  path: "/quote",
  query: {
    sellToken: request.sellToken,
    buyToken: request.buyToken,
    sellAmount: request.sellAmount,
    minBuyAmount: request.sellAmount === undefined ? request.atLeast : undefined,
    userAddress: request.wallet,
    chainId: 1,
    slippageBps: request.slippageBps,
  },
  answer: "SwapQuoteEnvelope",
});

/** An accepted quote, and what the own node shows of the wallet, with its latest block then. */
interface AcceptedQuote {
  readonly quote: SwapQuote;
  readonly funds: Funds | undefined;
  readonly head: Json | undefined;
}

/**
 * Return a quote whose router may move the sell amount, the approvals that were mined for it, and the
 * block on which it was planned. An approval takes time and a nonce, so a fresh quote follows each.
 * Throws QuoteDeclined.
 */
export async function approvedQuote(
  context: Context,
  request: SwapTerms,
  signer: Signer,
  watch: QuoteWatch,
): Promise<{ quote: SwapQuote; approvals: Approved[]; head: Json | undefined }> {
  const approvals: Approved[] = [];
  for (let round = 0; round < MOST_ROUTERS; round += 1) {
    const { quote, funds, head } = await freshQuote(context, request, watch, newestBlock(approvals));
    const { dexRoute } = quote;
    if (!funds) return { quote, approvals, head };
    const { requireEnoughBehind } = await import("./open-orders.js");
    await requireEnoughBehind(context, request, quote, funds);
    const allowed = funds.allowance;
    if (allowed >= BigInt(quote.sellAmount)) return { quote, approvals, head };
    const { approve, requireMayApprove } = await import("./approvals.js");
    await requireMayApprove(context, request, quote, allowed);
    approvals.push(...(await approve(context, request, dexRoute.target, allowed, signer, watch)));
  }
  throw new QuoteDeclined("each fresh quote chose a router that was not approved yet");
}

/** Refuse a swap above the balance, which it returns: before an approval costs gas, and after it. */
async function requireFunds({ io }: Context, request: SwapTerms, quote: SwapQuote): Promise<bigint> {
  const { sellToken, wallet } = request;
  const sellAmount = BigInt(quote.sellAmount);
  const held = await balanceOf(io, sellToken, wallet);
  if (held < sellAmount)
    throw new QuoteDeclined(`the wallet holds ${held} of ${sellAmount} smallest units of the sell token`);
  await requireEth(io, wallet, quote.mevProtection.transactionParams);
  return held;
}

/**
 * Request a quote that passes the checks, is accepted, and has not expired. `accept` may take long:
 * if the quote is then too old, a new one is requested and passed to it.
 */
async function freshQuote(
  context: Context,
  request: SwapTerms,
  watch: QuoteWatch,
  since: number,
): Promise<AcceptedQuote> {
  for (let round = 0; round < MOST_QUOTES; round += 1) {
    const io = oneMoment(context.io);
    const now = { ...context, io };
    const quote = await safeQuote(now, request);
    const came = io.seconds();
    watch({ quote });
    if (request.atLeast !== undefined && BigInt(quote.minBuyAmount) < request.atLeast)
      throw new QuoteDeclined(`the minimum ${quote.minBuyAmount} is below ${request.atLeast}`);
    const { confirm, atLeast, slippageBps } = request;
    const reference = compares(io, request) ? await import("./reference-price.js") : undefined;
    const loss = judgeQuote(quote, slippageBps, await reference?.requireFair(now, quote, request));
    const consent = () => requireConsent(loss, mostBps(request), quote, confirm, atLeast !== undefined);
    if (!confirm) await consent();
    const facts = await covered(now, request, quote, since);
    if (request.accept && !(await request.accept(quote))) throw new QuoteDeclined("the quote was not accepted");
    if (confirm) await consent();
    if (io.seconds() - came <= FRESH_S) return { quote, ...facts };
  }
  throw new QuoteDeclined("each quote grew old before it was accepted");
}

const compares = (io: Transport, request: SwapTerms) =>
  request.maxImpactPercent !== undefined || (io.hasNode && needsReference(request));

/** Return what the own node shows, at block `since` or later; nothing without one. Throws QuoteDeclined. */
async function covered(
  context: Context,
  request: SwapTerms,
  quote: SwapQuote,
  since: number,
): Promise<Omit<AcceptedQuote, "quote">> {
  const { io } = context;
  if (!io.hasNode) return { funds: undefined, head: undefined };
  const balance = await requireFunds(context, request, quote);
  const head = await latestBlock(io, since);
  const block = await blockSince(io, since);
  const allowance = await allowanceOf(io, quote.sellToken, request.wallet, quote.dexRoute.target, block);
  return { funds: { balance, allowance, usedNonces: await nonceOf(io, request.wallet, "latest") }, head };
}

/** What the plan of a quote reads at the caller's own node, as far as it is known. */
async function planReads(io: Transport, quote: SwapQuote, request: SwapTerms): Promise<RpcCall[]> {
  const { wallet, sellToken } = request;
  const router = quote.dexRoute.target;
  const [deployer, ...settlers] = SETTLERS;
  const prices = compares(io, request) ? await import("./reference-price.js") : undefined;
  return [
    CHAIN_ID,
    LATEST,
    nonceCall(wallet),
    etherCall(wallet),
    viewCall(sellToken, balanceData(wallet)),
    ...(isAddress(router) ? [viewCall(sellToken, allowanceData(wallet, router))] : []),
    ...(router.toLowerCase() === ALLOWANCE_HOLDER ? settlers.map((data) => viewCall(deployer, data)) : []),
    ...(prices?.referenceReads(request) ?? []),
    nonceCall(wallet, "latest"),
  ];
}

/** Request a quote; repeat while the service's node is behind the caller's own node. */
async function safeQuote(context: Context, request: SwapTerms): Promise<SwapQuote> {
  const { io, polling } = context;
  for (let attempt = 1; ; attempt += 1) {
    const quote = await send(io, swapQuoteCall(request));
    if (io.hasNode) {
      await readAhead(io, await planReads(io, quote, request));
      await requireMainnet(io);
    }
    const isZeroEx = quote.dexRoute.target.toLowerCase() === ALLOWANCE_HOLDER;
    checkQuote(quote, request, io.hasNode && isZeroEx ? await readSettlers(context) : []);
    if (!io.hasNode) checkUnsimulated(quote);
    const params: TransactionParams = quote.mevProtection.transactionParams;
    let wanted = request.nonce;
    if (io.hasNode) {
      await checkFee(context, params);
      if (wanted === undefined && !request.anyNonce) wanted = await nextNonce(context, request.wallet, params.nonce);
    }
    if (wanted === undefined || params.nonce === wanted) return quote;
    const lags = request.nonce === undefined && params.nonce !== null && params.nonce < wanted;
    if (!lags || attempt === LAGGING_QUOTES) throw otherNonce(params.nonce, wanted, request);
    await io.sleep(polling.nodeIntervalS);
  }
}

/** The wallet's next nonce; below `least` a backend of the node may be behind. */
async function nextNonce({ io, polling }: Context, wallet: string, least: number | null): Promise<number> {
  for (let look = 1; ; look += 1) {
    const found = await nonceOf(io, wallet);
    if (found >= (least ?? 0) || look === BACKENDS) return found;
    await io.sleep(polling.nodeIntervalS);
  }
}

function otherNonce(quoted: number | null, wanted: number, request: SwapTerms): NonceMismatch {
  if (request.nonce !== undefined)
    return new NonceMismatch(`the quote has nonce ${quoted}, you asked for ${wanted}`);
  return new NonceMismatch(
    `the quote has nonce ${quoted}, but the wallet's next is ${wanted} by your own node`,
    "; if orders of yours are open, wait until they are decided, or take the service's word with anyNonce",
  );
}

/** Refuse a fee cap below the base fee at the caller's own node, or far above it. Throws UnsafeQuote. */
export async function checkFee({ io }: Context, params: TransactionParams): Promise<void> {
  const base = await baseFee(io);
  const cap = BigInt(params.maxFeePerGas);
  if (cap < base || cap > FEE_MULTIPLE * base + FEE_HEADROOM)
    throw new UnsafeQuote(
      `the quote's fee cap is ${params.maxFeePerGas} wei per gas, though the base fee is ${base} by your own node`,
    );
}

/**
 * 0x's current and previous Settler in lower case, as 0x's Deployer names them at the caller's own
 * node. Without a current one there are none: this is how 0x pauses.
 */
async function readSettlers({ io }: Context): Promise<string[]> {
  const [deployer, ownerOf, previous] = SETTLERS;
  const read = async (data: string) => {
    const found = textOf(await answered(view(io, deployer, data))).toLowerCase();
    return /^0x0{24}(?!0{40})[0-9a-f]{40}$/.test(found) ? [`0x${found.slice(26)}`] : [];
  };
  const current = await read(ownerOf);
  const before = await read(previous);
  return current.length ? [...current, ...before] : [];
}
