/** What the open orders of a wallet mean for its next transaction: they are private, so no node counts them. */
import { QuoteDeclined } from "./flow-errors.js";
import { receiptOf } from "./node.js";
import { historyCall } from "./order-history.js";
import { orderStatusCall, retryTransient, type Context } from "./polling.js";
import type { SwapTerms } from "./quote-checks.js";
import { OPEN } from "./reading.js";
import type { WalletFacts } from "./swap-plan.js";
import { send } from "./transport.js";
import type { OrderHistory, SwapQuote } from "./types.js";

type Listed = OrderHistory["orders"][number];

/**
 * The open orders that the service reports, of all kinds, because each has a nonce. One that the
 * caller's node has in a block has used it. Each status is requested by itself, in the order of the
 * transitions, so that neither a long history nor a change between two requests hides one.
 */
export async function openOrders(context: Context, wallet: string): Promise<Listed[]> {
  const { io } = context;
  const listed = new Map<string, Listed>();
  for (const status of OPEN) {
    const call = historyCall(wallet, { limit: 200, offset: 0, status, kind: "any" });
    const { orders } = await retryTransient(context, () => send(io, call));
    for (const order of orders) {
      const { orderId, txHash } = order;
      if (!OPEN.includes(order.status) || listed.has(orderId)) continue;
      if (!(io.hasNode && txHash && (await receiptOf(io, txHash)))) listed.set(orderId, order);
    }
  }
  return [...listed.values()];
}

/** The nonce of an order; undefined if the service does not tell it. */
async function nonceOfOrder(context: Context, { orderId }: Listed): Promise<number | undefined> {
  const record = await retryTransient(context, () => send(context.io, orderStatusCall(orderId)));
  return record.nonce ?? undefined;
}

/**
 * Refuse `what`, which uses nonces between `from` and before `to`, while an order with such a nonce is
 * open. An order with a later nonce keeps it. Throws QuoteDeclined.
 */
export async function requireNoOpenOrder(
  context: Context,
  wallet: string,
  what: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  for (const order of await openOrders(context, wallet)) {
    const nonce = await nonceOfOrder(context, order);
    if (nonce !== undefined && nonce >= to) continue;
    const isBefore = nonce !== undefined && nonce < from;
    const effect = isBefore ? `would wait behind its nonce ${nonce}` : "could take its nonce and cancel it";
    throw new QuoteDeclined(
      `order ${order.orderId} is open, and ${what} ${effect}: wait until it is decided, or give replace`,
    );
  }
}

const most = (one: bigint, other: bigint) => (one > other ? one : other);

/** By nonce, how much of the sell token swaps would sell that were signed here. */
function soldHere({ orders }: Context, { wallet, sellToken }: SwapTerms, from: number, to: number): Map<number | string, bigint> {
  const amounts = new Map<number | string, bigint>();
  for (const { nonce, sellAmount = "0", ...sent } of orders.values?.() ?? []) {
    const isOurs = sent.wallet.toLowerCase() === wallet.toLowerCase() && from <= nonce && nonce < to;
    if (isOurs && sent.sellToken?.toLowerCase() === sellToken.toLowerCase())
      amounts.set(nonce, most(amounts.get(nonce) ?? 0n, BigInt(sellAmount)));
  }
  return amounts;
}

/**
 * Refuse a swap behind open orders that will take the balance or the allowance that it needs. Those are
 * counted that the service reports, and those signed here: at most one with each nonce is mined. An
 * order at the swap's own nonce is what it replaces. An order's router is not reported: each counts as
 * one of the quote's router. No approval is advised: it would take the nonce of such an order. Throws
 * QuoteDeclined.
 */
export async function requireEnoughBehind(
  context: Context,
  request: SwapTerms,
  quote: SwapQuote,
  { sellBalance, allowance, usedNonces }: WalletFacts,
): Promise<void> {
  const { nonce } = quote.mevProtection.transactionParams;
  if (nonce === null || nonce <= usedNonces) return;
  const swapped = soldHere(context, request, usedNonces, nonce);
  let unwrapped = 0n;
  for (const order of await openOrders(context, request.wallet)) {
    const { kind, summary } = order;
    if (summary.sellToken.toLowerCase() !== request.sellToken.toLowerCase()) continue;
    if (kind !== "swap" && kind !== "wrap") continue;
    const ahead = await nonceOfOrder(context, order);
    if (ahead !== undefined && ahead >= nonce) continue;
    const key = ahead ?? order.orderId;
    if (kind === "swap") swapped.set(key, most(swapped.get(key) ?? 0n, BigInt(summary.sellAmount)));
    else unwrapped += BigInt(summary.sellAmount);
  }
  const moved = [...swapped.values()].reduce((sum, each) => sum + each, 0n);
  const limits = [
    ["the wallet holds", sellBalance, moved + unwrapped],
    [`${quote.dexRoute.target} may move`, allowance, moved],
  ] as const;
  for (const [has, amount, ahead] of limits)
    if (ahead && amount < ahead + BigInt(quote.sellAmount))
      throw new QuoteDeclined(
        `${has} ${amount} smallest units of the sell token, and open orders with lower nonces sell` +
          ` ${ahead} of them: the swap of ${quote.sellAmount} behind them would fail`,
        ". Nothing was signed; wait until they are decided",
      );
}
