/**
 * The plan of a swap: what would be signed, what it costs and may lose, and whether it may be.
 *
 * All decisions before a signature are made here, from the request, from the calldata and from the
 * caller's own node. `swap` signs a plan, and a page shows one; neither decides again.
 */
import type { Approved, ApprovalSent } from "./approvals.js";
import type { ClientError } from "./errors.js";
import { QuoteDeclined, UnsafeQuote } from "./flow-errors.js";
import { WETH } from "./generated/rules.js";
import { judgeQuote, needsReference, requireConsent, together, type Loss } from "./loss.js";
import { allowanceSince, balanceOf, etherCall, latestBlock, newestBlock, nonceOf } from "./node.js";
import { requireTradeScope, type Context } from "./polling.js";
import type { SwapTerms } from "./quote-checks.js";
import { compares, safeQuote } from "./quoting.js";
import { quantity } from "./reading.js";
import { oneMoment } from "./rpc-batch.js";
import type { Signer } from "./signing.js";
import { SwapPlan, type WalletFacts } from "./swap-plan.js";
import { rpc, type Transport } from "./transport.js";
import type { SwapQuote, WrapOperation } from "./types.js";

const MOST_QUOTES = 10;
/** Most approvals in one swap; each fresh quote may name another source's router. */
const MOST_ROUTERS = 5;

export type PlanWatch = (
  event: { quote: SwapQuote } | { plan: SwapPlan } | { approvalSent: ApprovalSent } | { approved: Approved },
) => void;

/** At which block of the own node or later a plan is made, and what ETH needs beside the swap. */
interface Place {
  readonly since?: number;
  readonly conversion?: WrapOperation | undefined;
}

/**
 * Request a quote that passes the checks and plan its signatures. What is only declined is the plan's
 * `refusal`. Throws UnsafeQuote and NonceMismatch.
 */
export async function planned(
  context: Context,
  request: SwapTerms,
  watch: PlanWatch,
  { since = 0, conversion }: Place = {},
): Promise<SwapPlan> {
  const io = oneMoment(context.io);
  const now = { ...context, io };
  if ((conversion || request.batch) && !io.hasNode) {
    const what = request.batch ? "approve and swap in one" : "a plan with ETH";
    throw new QuoteDeclined(`${what} needs your own node`, " (rpcUrl): nothing was signed");
  }
  const quote = await safeQuote(now, request, since);
  const at = io.seconds();
  watch({ quote });
  const prices = compares(io, request) ? await import("./reference-price.js") : undefined;
  const sold = BigInt(quote.sellAmount);
  const reference = io.hasNode && needsReference(request) ? await prices?.findReference(io, request, sold) : undefined;
  const loss = judgeQuote(quote, request.slippageBps, prices?.belowPercent(quote, request.slippageBps, reference));
  const plan = new SwapPlan({ request, quote, loss, at, reference, conversion });
  const refusal = await declined(async () => {
    const { atLeast } = request;
    if (atLeast !== undefined && BigInt(quote.minBuyAmount) < atLeast)
      throw new QuoteDeclined(`the minimum ${quote.minBuyAmount} is below ${atLeast}`);
    prices?.requireFair(quote, request, reference);
    if (!request.confirm) await consented(plan);
  });
  const priced = refusal ? plan.with({ refusal }) : plan;
  return io.hasNode ? withWallet(now, priced, since) : priced;
}

/** Return why something is declined; undefined if it is not. */
async function declined(check: () => Promise<void>): Promise<ClientError | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof QuoteDeclined) return error;
    throw error;
  }
}

/** Ask for the loss of a plan, if it is more than the request accepts. Throws QuoteDeclined. */
const consented = ({ loss, acceptedBps, quote, request }: SwapPlan): Promise<void> =>
  requireConsent(loss, acceptedBps, quote, request.confirm, request.atLeast !== undefined);

/** Add what the own node shows of the wallet, and the approvals that the swap needs. */
async function withWallet(context: Context, priced: SwapPlan, since: number): Promise<SwapPlan> {
  const { quote, request, refusal } = priced;
  const block = await latestBlock(context.io, since);
  const wallet = await factsOf(context.io, quote, request, since);
  let plan = priced.with({ wallet, block });
  if (refusal) return plan;
  const found = await declined(async () => {
    if (plan.conversion) plan = await withConversion(context, plan, plan.conversion);
    requireFunds(plan, wallet);
    const { requireEnoughBehind } = await import("./open-orders.js");
    await requireEnoughBehind(context, request, quote, wallet);
    if (wallet.allowance >= BigInt(quote.sellAmount) && !request.batchConversion) return;
    if (request.batch) {
      const { batchedQuote } = await import("./batched-quote.js");
      plan = plan.with({ quote: await batchedQuote(context, quote, request, wallet.allowance), isBatched: true });
      return;
    }
    const { planApprovals, requireFreeNonces, requireMayApprove } = await import("./approvals.js");
    requireMayApprove(request, quote, wallet.allowance);
    const { feedReads } = await import("./reference-price.js");
    plan = plan.with(await planApprovals(context.io, request, quote.dexRoute.target, wallet.allowance, feedReads(WETH)));
    if (plan.conversion) requireFunds(plan, wallet); // the gas of all steps, before the first one
    // before the public approval: its gas would be paid for a swap that is declined
    plan = await withGas(context.io, plan, BigInt(quote.estimatedGas));
    // last: it asks the service, and what the node is asked after that is a further trip
    await requireFreeNonces(context, request, wallet);
  });
  return found ? plan.with({ refusal: found }) : plan;
}

/**
 * Add what the wrap or unwrap of a plan may cost, by its own quote of at least the minimum. Throws
 * UnsafeQuote, and QuoteDeclined for gas above the request's limit, or for the loss with it.
 */
async function withConversion(context: Context, plan: SwapPlan, operation: WrapOperation): Promise<SwapPlan> {
  const { plannedConversion } = await import("./wrap.js");
  const { quote, request } = plan;
  const units = BigInt(operation === "wrap" ? quote.sellAmount : quote.minBuyAmount);
  const { loss, ...conversion } = await plannedConversion(context, operation, units, request);
  const whole = plan.with({ ...conversion, loss: together(plan.loss, loss) });
  if (!request.confirm) await consented(whole);
  return whole;
}

async function factsOf(io: Transport, quote: SwapQuote, request: SwapTerms, since: number): Promise<WalletFacts> {
  const { sellToken, wallet } = request;
  return {
    sellBalance: await balanceOf(io, sellToken, wallet),
    ether: quantity(await rpc(io, ...etherCall(wallet))),
    allowance: await allowanceSince(io, sellToken, wallet, quote.dexRoute.target, since),
    nextNonce: await nonceOf(io, wallet),
    usedNonces: await nonceOf(io, wallet, "latest"),
  };
}

/**
 * Refuse a swap above the balance: before an approval costs gas, and after it. The most that it may cost is
 * value + gas limit × fee cap, as a node asks (EIP-1559). With a wrap, what is sold is ETH now.
 */
function requireFunds({ quote, params, conversion, wraps, steps, maxGasCost }: SwapPlan, facts: WalletFacts): void {
  const needs = BigInt(quote.sellAmount);
  if (facts.sellBalance < needs && !wraps)
    throw new QuoteDeclined(`the wallet holds ${facts.sellBalance} of ${needs} smallest units of the sell token`);
  const cost = BigInt(params.value) + maxGasCost + (wraps ? needs : 0n);
  const payment = conversion ? steps.join(", ") : "the transaction";
  if (facts.ether < cost)
    throw new QuoteDeclined(`the wallet holds ${facts.ether} wei of ETH, and ${payment} may cost ${cost} wei`);
}

/**
 * Judge the plan again with so much gas, at the current base fee of the own node. Return the plan as it is
 * if a reference, Chainlink's ETH price or the gas is missing. A loss that this raises counts; what was
 * accepted before is not asked again. Throws QuoteDeclined.
 */
async function withGas(io: Transport, plan: SwapPlan, gasUsed: bigint | undefined): Promise<SwapPlan> {
  const { request, reference, quote } = plan;
  if (gasUsed === undefined || !reference) return plan;
  const { lossWithGas } = await import("./reference-price.js");
  const loss = await lossWithGas(io, quote, request, reference, gasUsed);
  if (!loss || loss.bps <= plan.loss.bps) return plan;
  const raised = plan.with({ loss });
  if (!request.confirm) await consented(raised);
  return raised;
}

/**
 * Simulate the swap at the caller's own node, and judge it with the gas that it used. Throws UnsafeQuote and
 * QuoteDeclined.
 */
export async function tried(context: Context, plan: SwapPlan, since = 0): Promise<SwapPlan> {
  const { simulateSwap } = await import("./simulation.js");
  const { block, reference } = plan;
  const io = oneMoment(context.io);
  const beside = reference ? (await import("./reference-price.js")).feedReads(WETH) : [];
  const trial = await simulateSwap(io, plan, since, block, beside);
  return withGas(io, plan.with({ trial }), trial.gasUsed);
}

/**
 * Return the plan of a swap, tried at the own node unless another step comes first. Nobody is asked: what a
 * person would be asked is `needsConsent`. Throws UnsafeQuote.
 */
export async function swapPlan(
  context: Context,
  request: SwapTerms,
  watch: PlanWatch,
  conversion: WrapOperation | undefined,
): Promise<SwapPlan> {
  await requireTradeScope(context);
  const plan = await planned(context, request, watch, { conversion });
  const isFirst = !plan.approvals.length && conversion !== "wrap";
  if (plan.refusal || !isFirst || !context.io.hasNode) return plan;
  try {
    return await tried(context, plan);
  } catch (error) {
    if (error instanceof QuoteDeclined || error instanceof UnsafeQuote) return plan.with({ refusal: error });
    throw error;
  }
}

/**
 * Return a plan that is accepted, and whose quote has not expired. `accept` may take long: if the quote is
 * then too old, a new one is planned and passed to it. Throws UnsafeQuote or QuoteDeclined.
 */
export async function acceptedPlan(
  context: Context,
  request: SwapTerms,
  watch: PlanWatch,
  place: Place = {},
): Promise<SwapPlan> {
  for (let round = 0; round < MOST_QUOTES; round += 1) {
    const plan = await planned(context, request, watch, place);
    watch({ plan });
    plan.require();
    const { accept } = request;
    if (accept && !(await accept(plan.quote))) throw new QuoteDeclined("the quote was not accepted");
    await consented(plan);
    if (context.io.seconds() <= plan.freshUntil) return plan;
  }
  throw new QuoteDeclined("each quote grew old before it was accepted");
}

/**
 * Return an accepted plan whose router has an allowance of at least the sell amount, and the approvals that
 * were mined for it. An approval takes time and a nonce, so a fresh quote follows each. Throws QuoteDeclined
 * and the errors of `approve`.
 */
export async function approvedPlan(
  context: Context,
  request: SwapTerms,
  signer: Signer,
  watch: PlanWatch,
): Promise<{ plan: SwapPlan; approvals: Approved[] }> {
  const approvals: Approved[] = [];
  for (let round = 0; round < MOST_ROUTERS; round += 1) {
    const plan = await acceptedPlan(context, request, watch, { since: newestBlock(approvals) });
    if (!plan.approvals.length) return { plan, approvals };
    const { approve } = await import("./approvals.js");
    approvals.push(...(await approve(context, request, plan.quote.dexRoute.target, signer, watch)));
  }
  throw new QuoteDeclined("each fresh quote chose a router that was not approved yet");
}

/** Ask for a loss that the trial raised. Throws QuoteDeclined. */
export async function requireConsentAgain(plan: SwapPlan, before: Loss): Promise<void> {
  if (plan.loss.bps > before.bps) await consented(plan);
}
