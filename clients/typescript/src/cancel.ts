/** The cancel flow: request the transaction, check, sign, submit, and follow both orders. */
import { requireKnown, requireNonce, requireThat, type Members } from "./arguments.js";
import { ApiError, ClientError } from "./errors.js";
import {
  NonceMismatch,
  OrderStillOpen,
  QuoteDeclined,
  StatusContradiction,
  UnsafeQuote,
  type Outcome,
  type Submitted,
} from "./flow-errors.js";
import { CancelResult, type CancelEvent, type CancelRequest } from "./cancel-result.js";
import { CANCEL_FEE_WEI } from "./generated/rules.js";
import {
  CHAIN_ID,
  nonceCall,
  nonceOf,
  paymentReads,
  receiptOf,
  requireEth,
  requireMainnet,
  requireSuccess,
  small,
  type Receipt,
} from "./node.js";
import { CANCEL, errorFor, watchTransaction } from "./finality.js";
import { followOrder, isTerminal, orderStatusCall, retryTransient, type Context } from "./polling.js";
import { cancelFaults, faultsOf } from "./params.js";
import { requireCost } from "./quote-checks.js";
import { isObject, object, textOf } from "./reading.js";
import { oneMoment, readAhead, type RpcCall } from "./rpc-batch.js";
import { hashOf, requireSame, sign, toSign, type Signer } from "./signing.js";
import { rpc, segment, send, type Call, type Transport } from "./transport.js";
import type { CancelOrder, CancelQuote, Hex, OrderStatus, Schemas, TransactionParams } from "./types.js";

const RECEIPT_LOOKS = 10;
const MEMBERS: Members<CancelRequest> = {
  orderId: true,
  wallet: true,
  mostFeeWei: true,
  nonce: true,
  txHash: true,
  accept: true,
};

/**
 * Refuse a quote that is not an empty self-transfer with a bounded fee. Throws UnsafeQuote;
 * NonceMismatch if it only has another nonce than the order, QuoteDeclined if only the gas cost
 * is above the limit.
 */
export function checkCancel(quote: CancelQuote, request: CancelRequest, wallet: string): void {
  const params: TransactionParams = quote.transactionParams;
  const { orderId, nonce, mostFeeWei = CANCEL_FEE_WEI } = request;
  const isOtherNonce = nonce !== undefined && params.nonce !== null && params.nonce !== nonce;
  const found = faultsOf({ "another order": quote.orderId !== orderId }).concat(cancelFaults(params, wallet, nonce));
  const Kind = isOtherNonce && found.length === 1 ? NonceMismatch : UnsafeQuote;
  if (found.length) throw new Kind(`the cancel has ${found.join(", ")}`);
  requireCost(BigInt(params.gasLimit) * BigInt(params.maxFeePerGas), mostFeeWei, "its gas", "mostFeeWei");
}

const pathOf = (orderId: string) => `/mev/orders/${segment(orderId)}/cancel`;

export const cancelQuoteCall = (orderId: string): Call<CancelQuote> => ({
  path: pathOf(orderId),
  body: {},
  answer: "CancelQuoteEnvelope",
});

/** Submit a signed cancel; repeating it creates no second order. Throws TransactionHashMismatch. */
export async function submitCancel(io: Transport, quote: CancelQuote, signedTransaction: Hex): Promise<CancelOrder> {
  const { orderId, providerMetadata } = quote;
  const body: Schemas["OrderCancelBody"] = { signedTransaction, providerMetadata };
  const answer = await send<CancelOrder>(io, { path: pathOf(orderId), body, answer: "CancelOrderEnvelope" });
  requireSame(hashOf(signedTransaction), answer.cancel.txHash);
  return answer;
}

/** The latest records that the service returned. */
interface Race {
  readonly quote: CancelQuote;
  /** The order's transaction: as the caller signed it, else as the service names it. */
  readonly txHash: string;
  /** The same, if the caller signed it. */
  readonly ownHash: string | undefined;
  status: OrderStatus;
  taken?: CancelOrder | undefined;
  end?: OrderStatus;
}

/**
 * Run the whole flow. If the swap is mined first, that is a result. Before signing, throws
 * UnsafeQuote, NonceMismatch and QuoteDeclined; afterwards OrderStillOpen, StatusContradiction or
 * MayBeMined.
 */
export async function cancel(
  context: Context,
  asked: CancelRequest,
  wallet: string,
  signer: Signer,
  watch: (event: CancelEvent) => void,
): Promise<CancelResult> {
  const { io } = context;
  requireKnown(asked, MEMBERS);
  const { orderId, mostFeeWei = CANCEL_FEE_WEI } = asked;
  requireThat(typeof mostFeeWei === "bigint" && mostFeeWei > 0n, "mostFeeWei", "a bigint above 0", mostFeeWei);
  requireNonce(asked.nonce);
  const signedHere = withSigned(asked, context, wallet);
  const before = await send(io, orderStatusCall(orderId));
  if (before.txHash == null)
    throw new QuoteDeclined(
      `the record of order ${orderId} names no txHash, as of one that was never sent; what became of` +
        " it cannot be checked",
      ": not signed",
    );
  const quote = await send(io, cancelQuoteCall(orderId));
  const now = oneMoment(io);
  if (io.hasNode) {
    const named: RpcCall = ["eth_getTransactionByHash", [before.txHash]];
    await readAhead(now, [CHAIN_ID, named, nonceCall(wallet, "latest")]);
    await requireMainnet(now);
  }
  const request = await tied(now, signedHere, before.txHash, wallet);
  checkCancel(quote, request, wallet);
  const unsigned = toSign(quote.transactionParams);
  const { nonce } = unsigned;
  if (io.hasNode && nonce < (await nonceOf(now, wallet, "latest")))
    throw new NonceMismatch(`nonce ${nonce} of the cancel is used already`);
  watch({ quote });
  if (request.accept && !(await request.accept(quote))) throw new QuoteDeclined("the cancel was not accepted");
  if (io.hasNode) {
    const accepted = oneMoment(io);
    await readAhead(accepted, paymentReads(wallet, quote.transactionParams));
    await requireEth(accepted, wallet, quote.transactionParams);
    await requireSuccess(accepted, "the cancel", wallet, quote.transactionParams);
  }
  const signed = await sign(unsigned, signer, wallet);
  const sent: Submitted = { what: CANCEL, txHash: hashOf(signed), wallet, nonce, orderId };
  const race: Race = { quote, status: before, txHash: before.txHash, ownHash: request.txHash };
  const trouble = await run(context, race, signed, watch);
  if (io.hasNode) return seen(context, race, sent, trouble, watch);
  if (trouble instanceof OrderStillOpen) throw trouble.of(sent);
  if (trouble) throw errorFor("open", trouble.message, sent, trouble);
  return new CancelResult(quote, race.taken, race.end, race.status);
}

/** Add nonce and hash of an order that this client submitted. Throws NonceMismatch. */
function withSigned(request: CancelRequest, { orders }: Context, wallet: string): CancelRequest {
  const own = orders.get(request.orderId);
  if (!own) return request;
  const nonce = request.nonce ?? own.nonce;
  const txHash = request.txHash?.toLowerCase() ?? own.txHash;
  if (nonce !== own.nonce || txHash !== own.txHash || wallet.toLowerCase() !== own.wallet.toLowerCase())
    throw new NonceMismatch(
      `order ${request.orderId} was signed as transaction ${own.txHash} with nonce ${own.nonce} of ${own.wallet}`,
    );
  return { ...request, nonce, txHash };
}

/**
 * The request with the order's nonce. A hash that only the service names ties nothing. The own node
 * seldom knows a private transaction; if it does, its data decides. Throws UnsafeQuote for a
 * contradiction, and QuoteDeclined if only the service knows the nonce.
 */
async function tied(io: Transport, request: CancelRequest, named: string, wallet: string): Promise<CancelRequest> {
  const { txHash: own } = request;
  if (own !== undefined && own.toLowerCase() !== named.toLowerCase())
    throw new UnsafeQuote(`the service says that the order is transaction ${named}, but you signed ${own}`);
  let known: [string, number] | undefined;
  try {
    known = io.hasNode ? await senderAndNonce(io, named) : undefined;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
  }
  const nonce = request.nonce ?? (own === undefined ? undefined : known?.[1]);
  if (nonce === undefined)
    throw new QuoteDeclined(
      "only the service knows which nonce the order has; it could name that of another transaction of the wallet",
      ": not signed; give the nonce that you signed the order with",
    );
  if (known && (known[0] !== wallet.toLowerCase() || known[1] !== nonce))
    throw new UnsafeQuote(
      `by your own node the order's transaction ${named} is nonce ${known[1]} of ${known[0]}, not nonce` +
        ` ${nonce} of the wallet`,
    );
  return { ...request, nonce };
}

/** Sender in lower case and nonce of a transaction; undefined if the node does not know it. */
async function senderAndNonce(io: Transport, txHash: string): Promise<[string, number] | undefined> {
  const found = await rpc(io, "eth_getTransactionByHash", [txHash]);
  if (found === null) return undefined;
  const { from, nonce } = object(found, "transaction");
  return [textOf(from).toLowerCase(), small(nonce)];
}

/** Submit the cancel and follow both orders until they end; return what went wrong. */
async function run(
  context: Context,
  race: Race,
  signed: Hex,
  watch: (event: CancelEvent) => void,
): Promise<ClientError | undefined> {
  const { orderId } = race.quote;
  const told = (status: OrderStatus) => watch({ status });
  try {
    race.taken = await submitted(context, race.quote, signed);
    if (race.taken) {
      watch({ submitted: race.taken });
      const { cancel: taken, tracking } = race.taken;
      race.end = await followOrder(context, taken.orderId, told, tracking.pollingInterval, hashOf(signed));
    }
    race.status = await followOrder(context, orderId, told, undefined, race.ownHash);
    return undefined;
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
}

/** Return the accepted cancel; undefined if the order had ended before. */
async function submitted(context: Context, quote: CancelQuote, signed: Hex): Promise<CancelOrder | undefined> {
  try {
    return await retryTransient(context, () => submitCancel(context.io, quote, signed));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, details } = error;
    const hasEnded = isObject(details) && details["reason"] === "ORDER_ENDED";
    if (code === "NONCE_TOO_LOW" || (code === "VALIDATION_ERROR" && hasEnded)) return undefined;
    throw error;
  }
}

/**
 * The receipt of the order's transaction, if the cancel can no longer be mined for it. Undefined if it
 * is not mined, or did not use the cancel's nonce: the service may have named the hash of another one.
 * If the node shows the receipt alone, it counts for a hash that the caller signed.
 */
async function rivalOf(
  context: Context,
  { txHash, ownHash }: Race,
  { wallet, nonce }: Submitted,
  looks: number,
): Promise<Receipt | undefined> {
  const receipt = await retryTransient(context, () => receiptOf(context.io, txHash), looks);
  if (!receipt) return undefined;
  const known = await retryTransient(context, () => senderAndNonce(context.io, txHash));
  const mine = wallet.toLowerCase();
  if (known) return known[0] === mine && known[1] === nonce ? receipt : undefined;
  return ownHash !== undefined && ["", mine].includes(receipt.sender.toLowerCase()) ? receipt : undefined;
}

/**
 * The cancel's outcome, and the receipt of the order's transaction if that was mined. A swap that took
 * place decides at once; what leaves the nonce to another swap takes two blocks.
 */
async function fateOf(context: Context, race: Race, sent: Submitted): Promise<{ fate: Outcome; swap?: Receipt | undefined }> {
  let swap: Receipt | undefined;
  try {
    swap = await rivalOf(context, race, sent, 1);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error; // it is read again
  }
  if (swap?.succeeded) return { fate: "replaced", swap };
  const { fate } = await watchTransaction(context, sent, context.polling.doubtS);
  return { fate, swap: await rivalOf(context, race, sent, RECEIPT_LOOKS) };
}

/** The result by the receipts of both transactions at the caller's own node. */
async function seen(
  context: Context,
  race: Race,
  sent: Submitted,
  trouble: ClientError | undefined,
  watch: (event: CancelEvent) => void,
): Promise<CancelResult> {
  const { status } = race.status;
  const said = `the service says that the order is ${status}`;
  const seconds = context.polling.doubtS;
  watch({ watching: { why: trouble?.message ?? said, sent, seconds } });
  const { fate, swap } = await fateOf(context, race, sent).catch((error: unknown) => {
    if (!(error instanceof ClientError)) throw error;
    const why = `your own node does not say what became of the order's own ${race.txHash} (${error.message})`;
    throw errorFor("open", why, sent, error);
  });
  if (swap?.succeeded && isTerminal(race.status) && status !== "confirmed")
    throw new StatusContradiction(race.quote.orderId, status, race.txHash);
  const isOpen = fate === "open" && !swap?.succeeded;
  if (isOpen && trouble instanceof OrderStillOpen) throw trouble.of(sent);
  if (isOpen)
    throw errorFor(fate, trouble?.message ?? `${said}, but your own node does not show it`, sent, trouble);
  return new CancelResult(race.quote, race.taken, race.end, race.status, fate, swap);
}
