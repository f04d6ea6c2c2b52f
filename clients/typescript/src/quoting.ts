/** Requests for quotes that pass the checks. */
import { NonceMismatch, UnsafeQuote } from "./flow-errors.js";
import { FEE_HEADROOM, FEE_MULTIPLE, SETTLERS } from "./generated/rules.js";
import { needsReference } from "./loss.js";
import {
  CHAIN_ID,
  LATEST,
  allowanceData,
  answered,
  balanceData,
  baseFee,
  blockName,
  codeCall,
  etherCall,
  isAddress,
  nonceCall,
  nonceOf,
  requireMainnet,
  view,
  viewCall,
} from "./node.js";
import { BACKENDS, type Context } from "./polling.js";
import { ALLOWANCE_HOLDER, checkQuote, checkUnsimulated, settlersIn, type SwapTerms } from "./quote-checks.js";
import { readAhead, type RpcCall } from "./rpc-batch.js";
import { send, type Call, type Transport } from "./transport.js";
import type { SwapQuote, TransactionParams } from "./types.js";

const LAGGING_QUOTES = 5;

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
    conversion: request.batchConversion,
  },
  answer: "SwapQuoteEnvelope",
});

/** Whether a quote of the request is compared with a reference price. */
export const compares = (io: Transport, request: SwapTerms) =>
  request.maxImpactPercent !== undefined || (io.hasNode && needsReference(request));

/**
 * What the plan of a quote reads at the caller's own node, as far as it is known. What an approval costs is
 * read before it is known whether one is needed: that saves a trip.
 */
async function planReads(io: Transport, quote: SwapQuote, request: SwapTerms, since: number): Promise<RpcCall[]> {
  const { wallet, sellToken } = request;
  const router = quote.dexRoute.target;
  const [deployer, ...settlers] = SETTLERS;
  const prices = compares(io, request) ? await import("./reference-price.js") : undefined;
  const mayApprove = request.approval !== "never" && request.nonce === undefined && !since && !request.batch;
  return [
    CHAIN_ID,
    LATEST,
    nonceCall(wallet),
    etherCall(wallet),
    viewCall(sellToken, balanceData(wallet)),
    ...(isAddress(router) ? [viewCall(sellToken, allowanceData(wallet, router), blockName(since))] : []),
    ...(isAddress(router) && mayApprove ? (await import("./approvals.js")).costReads(request, router) : []),
    ...(router.toLowerCase() === ALLOWANCE_HOLDER ? settlers.map((data) => viewCall(deployer, data)) : []),
    ...(request.batch ? [codeCall(wallet)] : []),
    ...(prices?.referenceReads(request) ?? []),
    nonceCall(wallet, "latest"),
  ];
}

/**
 * Request a quote; repeat while the service's node is behind the caller's own node. Block `since` has the
 * approval of just before.
 */
export async function safeQuote(context: Context, request: SwapTerms, since = 0): Promise<SwapQuote> {
  const { io, polling } = context;
  for (let attempt = 1; ; attempt += 1) {
    const quote = await send(io, swapQuoteCall(request));
    if (io.hasNode) {
      await readAhead(io, await planReads(io, quote, request, since));
      await requireMainnet(io);
    }
    checkQuote(quote, request, await settlersFor(context, quote));
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

/** 0x's current and previous Settler, as 0x's Deployer names them at the caller's own node; none for other routers. */
export async function settlersFor({ io }: Context, { dexRoute }: SwapQuote): Promise<string[]> {
  if (!io.hasNode || dexRoute.target.toLowerCase() !== ALLOWANCE_HOLDER) return [];
  const [deployer, ownerOf, previous] = SETTLERS;
  const current = await answered(view(io, deployer, ownerOf));
  return settlersIn(current, await answered(view(io, deployer, previous)));
}
