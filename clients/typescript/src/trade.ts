/**
 * A swap with ETH as one trade: what was signed for it, what is done, and what comes next. Each of its
 * transactions is recorded before it is submitted. So the record and the caller's own node tell after any
 * interruption what is left; no service has to be believed for it.
 */
import { errorFor, watchTransaction, type Seen } from "./finality.js";
import { QuoteDeclined, UnfinishedTrade, type Submitted } from "./flow-errors.js";
import { WETH } from "./generated/rules.js";
import { balanceOf, nonceOf, received, type Receipt } from "./node.js";
import { openOrders } from "./open-orders.js";
import type { Context, SignedOrders } from "./polling.js";
import { ETH, inWeth, type SwapTerms } from "./quote-checks.js";
import type { SwapPlan } from "./swap-plan.js";
import { rpc } from "./transport.js";
import type { WrapOperation } from "./types.js";

/**
 * A recorded step. An approval is none: its allowance at the caller's own node tells it. A batch does all of a trade
 * in one transaction.
 */
export type TradeStepName = "wrap" | "swap" | "unwrap" | "batch";
type StepState = "unsigned" | "open" | "unshown" | "reverted" | "replaced";

/**
 * What was accepted: exactly `sellAmount` is sold for at least `atLeast`, smallest units. One token is an
 * address, the other "ETH". No transaction of the trade is signed beyond them.
 */
export interface Terms {
  readonly wallet: string;
  readonly sellToken: string;
  readonly buyToken: string;
  readonly sellAmount: bigint;
  readonly atLeast: bigint;
  readonly isBatched: boolean;
}

/** The recorded steps, in order: ETH is wrapped first, or WETH unwrapped last. */
export const recordedSteps = ({ sellToken, isBatched }: Terms): readonly TradeStepName[] =>
  isBatched ? ["batch"] : sellToken === ETH ? ["wrap", "swap"] : ["swap", "unwrap"];

/**
 * The swap of the trade within the terms; the other limits are those of `limits`. It has half of their
 * slippage: the other half is for what the price lost since the terms were accepted. A fresh quote with all
 * of it would be below their minimum after any loss.
 */
export const swapWithin = (terms: Terms, limits: SwapTerms, nonce?: number): SwapTerms => ({
  ...limits,
  sellToken: inWeth(terms.sellToken),
  buyToken: inWeth(terms.buyToken),
  sellAmount: terms.sellAmount,
  maxSell: undefined,
  atLeast: terms.atLeast,
  slippageBps: Math.max(1, Math.floor(limits.slippageBps / 2)),
  nonce,
  anyNonce: undefined,
  batch: terms.isBatched,
  batchConversion: terms.isBatched ? (terms.sellToken === ETH ? "wrap" : "unwrap") : undefined,
  approval: terms.isBatched ? "exact" : limits.approval,
});

type Pair = Pick<Terms, "wallet" | "sellToken" | "buyToken">;

/** What a wallet trades for what, with ETH by its name. */
export const pairOf = ({ wallet, sellToken, buyToken }: Pair, conversion: WrapOperation | undefined): Pair => ({
  wallet,
  sellToken: conversion === "wrap" ? ETH : sellToken,
  buyToken: conversion === "unwrap" ? ETH : buyToken,
});

/** The terms of an accepted plan: its amount and its minimum. */
export const termsOf = ({ quote, request, conversion, isBatched }: SwapPlan): Terms => ({
  ...pairOf(request, conversion ?? request.batchConversion),
  isBatched,
  sellAmount: BigInt(quote.sellAmount),
  atLeast: BigInt(quote.minBuyAmount),
});

/** A recorded trade. `txHash` is that of its first transaction, which names it; `sent` the newest last. */
export interface Trade {
  readonly txHash: string;
  readonly terms: Terms;
  readonly sent: readonly Submitted[];
}

/** A run has told its end. */
export const isTold = ({ sent }: Trade): boolean => sent.some(({ told }) => told);

/** What was signed for a step, the newest first: several, if it was signed again. */
export const signedFor = ({ sent }: Trade, step: TradeStepName): readonly Submitted[] =>
  sent.filter(({ what }) => what === `the ${step}`).reverse();

/** Each transaction of a trade once, as it was recorded before it was submitted. */
function recorded(orders: SignedOrders): readonly Submitted[] {
  if (!orders.values) throw new RangeError("orders must have values(), for a swap with ETH");
  const each = new Map<string, Submitted>();
  for (const sent of orders.values()) if (sent.trade && !each.has(sent.txHash)) each.set(sent.txHash, sent);
  return [...each.values()];
}

/** The recorded trade that a transaction belongs to. Throws QuoteDeclined. */
export function tradeOf(orders: SignedOrders, txHash: string): Trade {
  const all = recorded(orders);
  const named = all.find((each) => each.txHash === txHash.toLowerCase());
  const sent = named ? all.filter(({ trade }) => trade === named.trade) : [];
  const first = sent.find((each) => each.txHash === named?.trade);
  if (!first) throw new QuoteDeclined(`transaction ${txHash} of a swap with ETH is not on the record here: nothing is signed`);
  const { wallet, sellToken = "", buyToken = "", sellAmount = "0", atLeast = "0" } = first;
  const amounts = { sellAmount: BigInt(sellAmount), atLeast: BigInt(atLeast) };
  const terms = { wallet, sellToken, buyToken, ...amounts, isBatched: first.what === "the batch" };
  return { txHash: first.txHash, terms, sent };
}

/**
 * A step that is not mined. `sent` is what was signed for it last, if it was signed. `open`: the service, as
 * `orderId`, or the caller's own node shows it: it is waited for. `unshown`: neither does, so it is signed
 * again with the same nonce. `reverted` and `replaced` came to nothing: it is signed again.
 */
export interface NextStep {
  readonly step: TradeStepName;
  readonly state: StepState;
  readonly sent?: Submitted | undefined;
  readonly orderId?: string | undefined;
}

/** The only nonce to sign a step with, so that at most one of the two can be mined. */
export const nonceFor = ({ sent, state }: NextStep): number | undefined =>
  state === "unshown" ? sent?.nonce : undefined;

/** The mined steps with the own node's receipts, and what comes next; undefined: all is done. */
export interface Progress {
  readonly mined: ReadonlyMap<TradeStepName, Receipt>;
  readonly next: NextStep | undefined;
}

/** What a swap brought, in smallest units, by the own node; undefined before it. */
export const broughtBy = (receipt: Receipt | undefined, { buyToken, wallet }: Terms): bigint | undefined =>
  receipt && received(receipt, inWeth(buyToken), wallet);

/** What the mined steps brought; undefined before the swap. */
export const gained = (mined: Progress["mined"], terms: Terms): bigint | undefined =>
  broughtBy(mined.get(terms.isBatched ? "batch" : "swap"), terms);

/** How far a trade is, by the caller's own node. Throws MayBeMined, and its errors. */
export async function progress(context: Context, terms: Terms, trade: Trade | undefined): Promise<Progress> {
  const mined = new Map<TradeStepName, Receipt>();
  for (const step of recordedSteps(terms)) {
    const standing = await standingOf(context, step, trade ? signedFor(trade, step) : []);
    if ("state" in standing) return { mined, next: standing };
    mined.set(step, standing);
  }
  return { mined, next: undefined };
}

/** The receipt of a mined step, or why there is none. */
async function standingOf(
  context: Context,
  step: TradeStepName,
  signed: readonly Submitted[],
): Promise<NextStep | Receipt> {
  const open: Submitted[] = [];
  let ended: StepState | undefined;
  for (const sent of signed) {
    const { fate, receipt } = await seenOf(context, sent);
    if (fate === "mined" && receipt) return receipt;
    if (fate === "open") open.push(sent);
    else ended ??= fate === "reverted" ? "reverted" : "replaced";
  }
  if (!open.length) return { step, state: ended ?? "unsigned", sent: signed[0] };
  for (const sent of open) {
    const orders = await openOrders(context, sent.wallet);
    const order = orders.find(({ txHash }) => txHash?.toLowerCase() === sent.txHash);
    if (order) return { step, state: "open", sent, orderId: order.orderId };
    if ((await rpc(context.io, "eth_getTransactionByHash", [sent.txHash])) !== null) return { step, state: "open", sent };
  }
  return { step, state: "unshown", sent: open[0] };
}

/**
 * Look at a transaction. One whose nonce is used is watched until a block decides it. Throws MayBeMined if
 * none does, and the node's error.
 */
async function seenOf(context: Context, sent: Submitted): Promise<Seen> {
  const { io, polling } = context;
  let seen = await watchTransaction(context, sent, 0);
  if (seen.fate === "open" && !seen.trouble) {
    if ((await nonceOf(io, sent.wallet, "latest")) <= sent.nonce) return seen;
    seen = await watchTransaction(context, sent, polling.doubtS);
  }
  if (seen.trouble) throw seen.trouble;
  if (seen.fate !== "open") return seen;
  throw errorFor("open", `your own node counts nonce ${sent.nonce} as used, and shows no block with it`, sent);
}

/**
 * Refuse a second trade of the same pair while the newest one is unfinished. One that is done is over once a
 * run has told its end: whoever was interrupted before would swap twice. One of which nothing was mined,
 * and nothing can be, is over. So is one whose WETH the wallet no longer has: it was swapped or unwrapped
 * otherwise. Throws UnfinishedTrade.
 */
export async function requireNoneUnfinished(context: Context, pair: Pair): Promise<void> {
  const nameOf = ({ wallet, sellToken, buyToken }: Pair) => [wallet, sellToken, buyToken].join().toLowerCase();
  for (const sent of [...recorded(context.orders)].reverse()) {
    const trade = tradeOf(context.orders, sent.txHash);
    if (nameOf(trade.terms) !== nameOf(pair)) continue;
    if (await isUnfinished(context, trade)) throw new UnfinishedTrade(trade.txHash);
    return;
  }
}

async function isUnfinished(context: Context, trade: Trade): Promise<boolean> {
  const { terms } = trade;
  const { mined, next } = await progress(context, terms, trade);
  if (!next) return !isTold(trade);
  if (next.state === "open" || next.state === "unshown") return true;
  if (!mined.size) return false;
  const needs = gained(mined, terms) ?? terms.sellAmount;
  return (await balanceOf(context.io, WETH, terms.wallet)) >= needs;
}

/**
 * Event: a transaction of a trade. `signed`: it is recorded, and submitted next. `mined` has the own node's
 * receipt; `open` is waited for; `unshown`, `reverted` and `replaced` are signed again.
 */
export interface TradeStep {
  readonly trade: string;
  readonly step: TradeStepName;
  readonly state: "signed" | "mined" | "open" | "unshown" | "reverted" | "replaced";
  readonly sent: Submitted;
  readonly receipt?: Receipt | undefined;
}
