/**
 * A swap that sells or buys ETH: wrap, approve and swap, or approve, swap and unwrap, as one trade.
 *
 * A delegated wallet does all of it in one transaction, a batch, which is a trade of one step.
 *
 * The caller accepts one plan. Each step is signed within its terms, after the block of the step before, and
 * recorded before it is submitted: `resume` goes on after any interruption.
 */
import type { Approved } from "./approvals.js";
import { SAFE_DEPTH, look, minedReceipt } from "./finality.js";
import { OrderStillOpen, QuoteDeclined, TransactionFailed, TransactionReplaced, type Submitted } from "./flow-errors.js";
import { MAX_FEE_WEI } from "./generated/rules.js";
import type { Receipt } from "./node.js";
import { followToEnd } from "./order-end.js";
import { acceptedPlan, approvedPlan } from "./plan.js";
import { patienceOf, remember, requireTradeScope, type Context, type Recording } from "./polling.js";
import { checkedRequest, type SwapTerms } from "./quote-checks.js";
import type { Signer } from "./signing.js";
import type { SwapPlan } from "./swap-plan.js";
import { SwapResult, signPlan, type SwapEvent } from "./swap.js";
import {
  broughtBy,
  gained,
  isTold,
  nonceFor,
  pairOf,
  progress,
  recordedSteps,
  requireNoneUnfinished,
  signedFor,
  swapWithin,
  termsOf,
  tradeOf,
  type NextStep,
  type Progress,
  type Terms,
  type Trade,
  type TradeStepName,
} from "./trade.js";
import type { WrapOperation } from "./types.js";
import { convert, fromWei } from "./wrap.js";

/** What the gas of a wrap or unwrap may be of its amount: the plan's loss was accepted with it. */
const ACCEPTED_PERCENT = 100;

/**
 * How far a swap with ETH is. `swap` is undefined if an earlier run has swapped, or none has. `received` is
 * what the wallet gained of the bought token (of ETH after its unwrap), in smallest units, from the own node's
 * receipt; `mined` has the receipts of the recorded steps.
 */
export class TradeResult {
  declare readonly trade: string;
  declare readonly terms: Terms;
  declare readonly mined: ReadonlyMap<TradeStepName, Receipt>;
  declare readonly received: bigint | undefined;
  declare readonly swap: SwapResult | undefined;

  constructor(trade: string, terms: Terms, mined: ReadonlyMap<TradeStepName, Receipt>, swap?: SwapResult) {
    this.trade = trade;
    this.terms = terms;
    this.mined = mined;
    this.received = gained(mined, terms);
    this.swap = swap;
  }

  /** The swap was mined and delivered less than the accepted minimum. */
  get fellShort(): boolean {
    return this.received !== undefined && this.received < this.terms.atLeast;
  }

  /** All steps are mined, and the minimum arrived. */
  get succeeded(): boolean {
    return this.mined.size === recordedSteps(this.terms).length && !this.fellShort;
  }
}

/**
 * Plan a swap with ETH, have it accepted, and run all its steps; return the result of its swap, with the
 * receipt of its wrap or unwrap. A swap that is reverted or cancelled is a result. Throws UnfinishedTrade, the
 * errors of a plan and of each step; what was signed before them is recorded, and `resume` goes on.
 */
export async function swapEther(
  context: Context,
  request: SwapTerms,
  conversion: WrapOperation | undefined,
  signer: Signer,
  watch: (event: SwapEvent) => void,
): Promise<SwapResult> {
  await requireTradeScope(context);
  const pair = pairOf(request, conversion ?? request.batchConversion);
  if (context.io.hasNode && !request.newTrade) await requireNoneUnfinished(context, pair);
  const plan = await acceptedPlan(context, request, watch, { conversion });
  const limits = { ...request, maxFeeWei: request.maxFeeWei ?? 2n * plan.maxGasCost };
  const run = new Run(context, termsOf(plan), limits, signer, watch);
  const { swap, mined, trade } = await run.toEnd(plan);
  if (!swap) throw new QuoteDeclined("the swap was not signed");
  const { quote, approvals, status, received, fate } = swap;
  return new SwapResult(quote, approvals, status, received, fate, trade, conversion && mined.get(conversion));
}

/**
 * Go on with the recorded trade of a transaction: what is done is never done again. Of `limits` all holds but
 * tokens and amounts. Throws QuoteDeclined, and what `swapEther` throws.
 */
export async function resume(
  context: Context,
  txHash: string,
  limits: SwapTerms | undefined,
  signer: Signer,
  watch: (event: SwapEvent) => void,
): Promise<TradeResult> {
  const { txHash: name, terms } = tradeOf(context.orders, txHash);
  if (!context.io.hasNode)
    throw new QuoteDeclined("what is done shows your own node only (rpcUrl): nothing was signed");
  const { wallet, sellToken, buyToken, sellAmount } = terms;
  const usual = limits ?? checkedRequest({ sellToken, buyToken, sellAmount }, wallet);
  if (usual.wallet.toLowerCase() !== wallet.toLowerCase())
    throw new QuoteDeclined(`the trade is one of ${wallet}, sign with its key: nothing is signed`);
  await requireTradeScope(context);
  return new Run(context, terms, usual, signer, watch, name).toEnd(undefined);
}

/** One run over the steps of a trade; each is signed at most once in it. */
class Run {
  readonly #context: Context;
  readonly #terms: Terms;
  readonly #limits: SwapTerms;
  readonly #signer: Signer;
  readonly #watch: (event: SwapEvent) => void;
  #trade: string | undefined;
  #swapped: SwapResult | undefined;
  readonly #signed = new Set<TradeStepName>();
  readonly #seen = new Set<TradeStepName>();

  constructor(
    context: Context,
    terms: Terms,
    limits: SwapTerms,
    signer: Signer,
    watch: (event: SwapEvent) => void,
    trade?: string,
  ) {
    this.#context = context;
    this.#terms = terms;
    this.#limits = limits;
    this.#signer = signer;
    this.#watch = watch;
    this.#trade = trade;
  }

  /** Do what is left. `plan` is accepted and not signed. */
  async toEnd(plan: SwapPlan | undefined): Promise<TradeResult> {
    for (;;) {
      const now = await progress(this.#context, this.#terms, this.#recorded());
      this.#tell(now);
      const { next } = now;
      if (!next) await this.#rememberEnd();
      if (!next || (this.#swapped && !this.#swapped.succeeded))
        return new TradeResult(this.#trade ?? "", this.#terms, now.mined, this.#swapped);
      if (next.state === "open" || this.#signed.has(next.step)) {
        await this.#awaited(next);
        continue;
      }
      this.#signed.add(next.step);
      if (isSwap(next)) await this.#swap(next, plan);
      else if (next.step === "unwrap") await this.#unwrap(next);
      else await this.#wrap(next, plan);
    }
  }

  /** Record that the end was told; where it cannot be, the next trade of the pair asks. */
  async #rememberEnd(): Promise<void> {
    const trade = this.#recorded();
    const last = trade?.sent.at(-1);
    if (!trade || !last || isTold(trade)) return;
    try {
      await this.#context.orders.set(last.txHash, { ...last, told: true });
    } catch {
      // Nothing is lost: a resumption tells the same end.
    }
  }

  #recorded(): Trade | undefined {
    return this.#trade === undefined ? undefined : tradeOf(this.#context.orders, this.#trade);
  }

  /** Tell each mined step once, and what an earlier run left open or without effect. */
  #tell({ mined, next }: Progress): void {
    const trade = this.#recorded();
    if (!trade) return;
    for (const [step, receipt] of mined) {
      const sent = signedFor(trade, step).find(({ txHash }) => txHash === receipt.transactionHash.toLowerCase());
      if (!sent || this.#seen.has(step)) continue;
      this.#seen.add(step);
      this.#watch({ tradeStep: { trade: trade.txHash, step, state: "mined", sent, receipt } });
    }
    if (next?.sent && next.state !== "unsigned")
      this.#watch({ tradeStep: { trade: trade.txHash, step: next.step, state: next.state, sent: next.sent } });
  }

  /** What records a signed step with the terms, before it is submitted. */
  #recording(step: TradeStepName): Recording {
    return async (made) => {
      const { sellToken, buyToken, sellAmount, atLeast } = this.#terms;
      const trade = this.#trade ?? made.txHash;
      const what = step === "batch" ? "the batch" : made.what;
      const sold = step === "wrap" || trade === made.txHash ? { sellToken, sellAmount: String(sellAmount) } : {};
      const sent: Submitted = { ...made, what, ...sold, trade, buyToken, atLeast: String(atLeast) };
      try {
        await this.#context.orders.set(sent.txHash, sent);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new QuoteDeclined(`${sent.what} was signed, but it cannot be recorded (${why}): it was not submitted`);
      }
      this.#trade = trade;
      this.#watch({ tradeStep: { trade, step, state: "signed", sent } });
      return sent;
    };
  }

  /** Wrap exactly what the plan sells. One that is signed again is planned again first. */
  async #wrap(step: NextStep, plan: SwapPlan | undefined): Promise<void> {
    if (!plan) {
      const request = swapWithin(this.#terms, this.#limits);
      await acceptedPlan(this.#context, request, this.#watch, { conversion: "wrap" });
    }
    await this.#convert("wrap", this.#terms.sellAmount, step);
  }

  /** Unwrap exactly what the swap brought, by a receipt that a new block cannot take back. */
  async #unwrap(step: NextStep): Promise<void> {
    const trade = this.#recorded();
    const receipt = await deepReceipt(this.#context, trade ? signedFor(trade, "swap") : []);
    const amount = broughtBy(receipt, this.#terms);
    if (amount === undefined || amount <= 0n)
      throw new QuoteDeclined("the swap brought no WETH by your own node: nothing to unwrap");
    await this.#convert("unwrap", amount, step);
  }

  async #convert(operation: WrapOperation, wei: bigint, step: NextStep): Promise<void> {
    const request = {
      operation,
      amount: fromWei(wei),
      wallet: this.#terms.wallet,
      nonce: nonceFor(step),
      maxLossPercent: ACCEPTED_PERCENT,
      maxFeeWei: this.#limits.maxFeeWei ?? MAX_FEE_WEI,
      watch: (event: object) => ("watching" in event ? this.#watch(event as SwapEvent) : undefined),
    };
    await convert(this.#context, request, this.#signer, this.#recording(operation));
  }

  /** Swap within the terms: the accepted plan if nothing came between, else a fresh quote. */
  async #swap(step: NextStep, plan: SwapPlan | undefined): Promise<void> {
    let [accepted, approvals]: [SwapPlan | undefined, readonly Approved[]] = [plan, []];
    if (!accepted || accepted.conversion === "wrap" || accepted.approvals.length) {
      const request = swapWithin(this.#terms, this.#limits, nonceFor(step));
      ({ plan: accepted, approvals } = await approvedPlan(this.#context, request, this.#signer, this.#watch));
    }
    const recording = this.#recording(step.step);
    this.#swapped = await signPlan(this.#context, accepted, approvals, this.#signer, this.#watch, recording);
  }

  /** Wait for what is open. Throws what ended it, unless an earlier run has signed it. */
  async #awaited(next: NextStep): Promise<void> {
    const { step, sent, orderId } = next;
    const context = this.#context;
    if (!sent) throw new QuoteDeclined(`the ${step} was not signed`);
    if (orderId !== undefined && isSwap(next)) {
      remember(context.orders, orderId, sent);
      const end = await followToEnd(context, orderId, (status) => this.#watch({ status }));
      end.requireCertainty(sent);
    } else {
      try {
        await minedReceipt(context, sent);
      } catch (error) {
        const isOver = error instanceof TransactionFailed || error instanceof TransactionReplaced;
        if (!isOver || this.#signed.has(step)) throw error;
      }
    }
    await context.io.sleep(context.polling.nodeIntervalS); // another backend of the node may be behind
  }
}

/** Whether the step sells what the trade sells. */
const isSwap = ({ step }: NextStep): boolean => step === "swap" || step === "batch";

/** The mined swap's receipt once it is deep enough. Throws OrderStillOpen. */
async function deepReceipt({ io, polling }: Context, swaps: readonly Submitted[]): Promise<Receipt> {
  const started = io.seconds();
  for (;;) {
    for (const sent of swaps) {
      const { receipt, head } = await look(io, sent);
      if (receipt?.succeeded && head - receipt.blockNumber + 1 >= SAFE_DEPTH) return receipt;
    }
    const waited = io.seconds() - started;
    if (waited > patienceOf(polling)) throw new OrderStillOpen(swaps[0]?.txHash ?? "", "not deep enough in the chain", waited);
    await io.sleep(polling.nodeIntervalS);
  }
}
