/** The client: one method per endpoint, and the flows. */
import { requireKnown, type Members } from "./arguments.js";
import type { CancelEvent, CancelRequest, CancelResult } from "./cancel-result.js";
import type { TradeResult } from "./ether-swap.js";
import type { EventsOptions } from "./events.js";
import { followToEnd, judgeRecord, type OrderEnd } from "./order-end.js";
import { receiptOf, type Receipt } from "./node.js";
import { historyCall } from "./order-history.js";
import {
  orderStatusCall,
  pollingOf,
  remember,
  usageCall,
  type Context,
  type PollingOptions,
  type SignedOrders,
} from "./polling.js";
import { swapPlan } from "./plan.js";
import { checkedRequest, conversionOf, inWeth, type SwapRequest } from "./quote-checks.js";
import { swapQuoteCall } from "./quoting.js";
import { hashOf, nonceIn, walletOf, type Signer } from "./signing.js";
import { submitOrder, submitOrderCall, swap, type SwapEvent, type SwapResult } from "./swap.js";
import type { SwapPlan } from "./swap-plan.js";
import { segment, send, transportOf, type Call, type TransportOptions } from "./transport.js";
import type { CancelOrder, CancelQuote, Hex, OrderEvent, OrderHistory, OrderState, OrderStatus, Schemas } from "./types.js";
import type { StreamedRoute, SwapOrder, SwapQuote, WrapOperation, WrapOrder, WrapQuote } from "./types.js";
import type { WrapOptions, WrapResult } from "./wrap.js";

// Parts that a page may never need are loaded when they are used; a swap needs none of them.
const cancelling = () => import("./cancel.js");
const etherSwapping = () => import("./ether-swap.js");
const wrapping = () => import("./wrap.js");

export interface ClientOptions extends TransportOptions {
  readonly polling?: PollingOptions | undefined;
  /**
   * What was signed for each order, so that `cancel` and `follow` need not believe the service. Without
   * it the client remembers only its own orders.
   */
  readonly orders?: SignedOrders | undefined;
}

const MEMBERS: Members<ClientOptions> = {
  url: true,
  apiKey: true,
  rpcUrl: true,
  timeoutMs: true,
  fetch: true,
  sleep: true,
  seconds: true,
  polling: true,
  orders: true,
};

export interface HistoryOptions {
  /** Orders per page, 1 to 200 (50). */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly status?: OrderState | undefined;
  /** Without it: swaps. */
  readonly kind?: OrderHistory["orders"][number]["kind"] | "any" | undefined;
  /** The `total` of your first page, so that further pages show each order once. */
  readonly asOf?: number | undefined;
}

const unwatched = () => undefined;

/**
 * A client of the service at `url` with one API key, and of the caller's own node at `rpcUrl`. Every
 * method may throw ServiceUnreachable, UnexpectedResponse, and the ApiError of the code that the
 * service answered; RangeError names a wrong argument. Approvals, the nonce of a wrap, the checks of
 * fees and nonces, the simulation and the receipts need `rpcUrl`.
 */
export class QuietswapClient {
  readonly #context: Context;

  constructor(options: ClientOptions) {
    requireKnown(options, MEMBERS);
    const io = transportOf(options);
    this.#context = { io, polling: pollingOf(options.polling), orders: options.orders ?? new Map() };
  }

  /**
   * Quote, approve if needed, simulate, sign, submit, and follow until the order ends. A failed or
   * cancelled order is a result. With ETH the wrap before it or the unwrap after it is signed, too, each
   * recorded in `orders` before it is submitted; `resume` goes on with it. Before signing, throws UnsafeQuote and QuoteDeclined; afterwards
   * TransactionHashMismatch, StatusContradiction and AfterSubmission.
   */
  async swap(request: SwapRequest, signer: Signer, watch: (event: SwapEvent) => void = unwatched): Promise<SwapResult> {
    const terms = checkedRequest(request, walletOf(signer, request.wallet));
    const conversion = conversionOf(request);
    if (conversion || terms.batchConversion)
      return (await etherSwapping()).swapEther(this.#context, terms, conversion, signer, watch);
    if (!this.#context.io.hasNode && terms.approval !== "never")
      throw new RangeError("approval needs rpcUrl, your own node: give it, or approval: \"never\"");
    return swap(this.#context, terms, signer, watch);
  }

  /**
   * Return what `swap` would sign, and whether it may be signed; nothing is signed. The quote passed all
   * checks. Without a step to sign first, it is tried at the caller's own node. `refusal` is what `swap`
   * would throw; what it would ask `confirm` is `needsConsent`. With ETH it plans all steps. Throws UnsafeQuote for a quote that nobody may sign.
   */
  async plan(
    request: SwapRequest & { wallet: string },
    watch: (event: SwapEvent) => void = unwatched,
  ): Promise<SwapPlan> {
    const conversion = conversionOf(request);
    const terms = checkedRequest(request, request.wallet);
    return swapPlan(this.#context, terms, watch, conversion);
  }

  /**
   * Go on with an interrupted swap with ETH, named by one of its recorded transactions. What the own node
   * shows as mined is never done again. Of `limits` all holds but tokens and amounts. Throws QuoteDeclined, and
   * what `swap` throws.
   */
  async resume(
    txHash: string,
    signer: Signer,
    watch: (event: SwapEvent) => void = unwatched,
    limits?: SwapRequest,
  ): Promise<TradeResult> {
    const terms = limits && checkedRequest(limits, walletOf(signer, limits.wallet));
    return (await etherSwapping()).resume(this.#context, txHash, terms, signer, watch);
  }

  /** Cancel an open order by its nonce, and follow until both transactions are decided. */
  async cancel(
    request: CancelRequest,
    signer: Signer,
    watch: (event: CancelEvent) => void = unwatched,
  ): Promise<CancelResult> {
    const { cancel } = await cancelling();
    return cancel(this.#context, request, walletOf(signer, request.wallet), signer, watch);
  }

  /** Convert `amount` ETH (a decimal string) to WETH and wait until the transaction is mined. */
  async wrap(amount: string, signer: Signer, options: WrapOptions = {}): Promise<WrapResult> {
    return this.#convert("wrap", amount, signer, options);
  }

  /** Convert `amount` WETH to ETH and wait until the transaction is mined. */
  async unwrap(amount: string, signer: Signer, options: WrapOptions = {}): Promise<WrapResult> {
    return this.#convert("unwrap", amount, signer, options);
  }

  /**
   * Follow an order until it is confirmed, failed or cancelled; return its last record, compared as by
   * `end`: throws StatusContradiction, and MayBeMined if your own node does not show what the service
   * reports; MinedAnyway and NeverMined if it does not report what your node has shown for a minute.
   * Without a node, or for an order that `orders` does not have, the record is only what the service
   * reports. Throws OrderStillOpen.
   */
  async follow(orderId: string, watch: (record: OrderStatus) => void = unwatched): Promise<OrderStatus> {
    const found = await this.end(orderId, watch);
    found.requireReport(this.#context.orders.get(orderId));
    return found.record;
  }

  /** Follow an order until the service calls it final; return what your own node shows of it. */
  async end(orderId: string, watch: (record: OrderStatus) => void = unwatched): Promise<OrderEnd> {
    return followToEnd(this.#context, orderId, watch);
  }

  /** Compare a status record with one look at your own node. */
  async checkOrder(record: OrderStatus): Promise<OrderEnd> {
    return judgeRecord(this.#context, record, this.#context.orders.get(record.orderId), 0);
  }

  /**
   * Yield the events of this client's orders, from the one after `after`, and reconnect as needed. They
   * are what the service reports; `end` compares.
   */
  async *events(options: EventsOptions = {}): AsyncGenerator<OrderEvent> {
    const { followEvents } = await import("./events.js");
    yield* followEvents(this.#context.io, options);
  }

  /** Return the best route and its transaction to sign, without checking it. "ETH" is quoted as its WETH. */
  async quote(request: SwapRequest & { wallet: string }): Promise<SwapQuote> {
    return this.#call(swapQuoteCall(checkedRequest(request, request.wallet)));
  }

  /**
   * Return the same as `quote`, and before it hand each verified route on. A route cannot be signed: a
   * better one may follow. After a route an ApiError has status 200.
   */
  async streamQuote(
    request: SwapRequest & { wallet: string },
    verified: (route: StreamedRoute) => void,
  ): Promise<SwapQuote> {
    const { streamQuote } = await import("./stream.js");
    return streamQuote(this.#context.io, swapQuoteCall(checkedRequest(request, request.wallet)), verified);
  }

  /** Submit a signed swap once. Throws TransactionHashMismatch. */
  async submitOrder(quote: SwapQuote, request: SwapRequest & { wallet: string }, signed: Hex): Promise<SwapOrder> {
    const call = submitOrderCall(quote, checkedRequest(request, request.wallet), signed);
    const placed = await submitOrder(this.#context.io, call, hashOf(signed));
    const sent = { what: "the swap", txHash: hashOf(signed), wallet: request.wallet, nonce: nonceIn(signed) };
    remember(this.#context.orders, placed.order.orderId, sent);
    return placed;
  }

  async orderStatus(orderId: string): Promise<OrderStatus> {
    return this.#call(orderStatusCall(orderId));
  }

  /** Return one page of a wallet's orders: swaps, or what `kind` names. */
  async orderHistory(wallet: string, options: HistoryOptions = {}): Promise<OrderHistory> {
    const { limit = 50, offset = 0, status, kind, asOf } = options;
    return this.#call(historyCall(wallet, { limit, offset, status, kind, asOf }));
  }

  /**
   * Return an indicative price: nothing is simulated, and it cannot be traded. A token is an address, or
   * "ETH", which has the price of its WETH.
   */
  async price(sellToken: string, buyToken: string, sellAmount: bigint): Promise<Schemas["PriceResponse"]> {
    const query = { sellToken: inWeth(sellToken), buyToken: inWeth(buyToken), sellAmount, chainId: 1 };
    return this.#call({ path: "/price", query, answer: "PriceEnvelope" });
  }

  /** Return one page (1 to 200) of the tokens that a symbol, name or address finds. */
  async tokens(search = "", limit = 50, offset = 0): Promise<Schemas["TokensResponse"]> {
    return this.#call({ path: "/tokens", query: { search, limit, offset }, answer: "TokensEnvelope" });
  }

  /** Return ETH, and balances and router allowances of up to 50 tokens (WETH), at one block. */
  async balances(wallet: string, tokens: readonly string[] = []): Promise<Schemas["BalancesResponse"]> {
    const query = { tokens: tokens.join() || undefined };
    return this.#call({ path: `/mev/balances/${segment(wallet)}`, query, answer: "BalancesEnvelope" });
  }

  /** Return the limits of the key's client, and what it has used. */
  async usage(): Promise<Schemas["UsageResponse"]> {
    return this.#call(usageCall);
  }

  /** Return results per source and per relay of the last 1 to 90 days. */
  async orderStats(days = 7): Promise<Schemas["OrderStatsResponse"]> {
    return this.#call({ path: "/mev/stats", query: { days }, answer: "OrderStatsEnvelope" });
  }

  async wrapInfo(wallet: string): Promise<Schemas["WrapInfoResponse"]> {
    return this.#call({ path: "/mev/wrap/info", query: { userAddress: wallet }, answer: "WrapInfoEnvelope" });
  }

  /** Return the transaction that wraps or unwraps `amount` ETH; the caller sets its nonce. */
  async wrapQuote(operation: WrapOperation, amount: string, wallet: string): Promise<WrapQuote> {
    return this.#call((await wrapping()).wrapQuoteCall(operation, amount, wallet));
  }

  /** Submit a signed wrap or unwrap once. Throws TransactionHashMismatch. */
  async submitWrapOrder(quote: WrapQuote, signed: Hex): Promise<WrapOrder> {
    return (await wrapping()).submitWrap(this.#context.io, quote, signed);
  }

  /** Return the empty self-transfer that cancels an open order, without checking it. */
  async cancelQuote(orderId: string): Promise<CancelQuote> {
    return this.#call((await cancelling()).cancelQuoteCall(orderId));
  }

  /** Submit a signed cancel once. Throws TransactionHashMismatch. */
  async submitCancel(quote: CancelQuote, signed: Hex): Promise<CancelOrder> {
    return (await cancelling()).submitCancel(this.#context.io, quote, signed);
  }

  /** The receipt at the caller's own node; undefined until the transaction is mined. */
  async receipt(txHash: string): Promise<Receipt | undefined> {
    return receiptOf(this.#context.io, txHash);
  }

  #call<T>(call: Call<T>): Promise<T> {
    return send(this.#context.io, call);
  }

  async #convert(
    operation: WrapOperation,
    amount: string,
    signer: Signer,
    options: WrapOptions,
  ): Promise<WrapResult> {
    const wallet = walletOf(signer, options.wallet);
    const { convert } = await wrapping();
    return convert(this.#context, { ...options, operation, amount, wallet }, signer);
  }
}
