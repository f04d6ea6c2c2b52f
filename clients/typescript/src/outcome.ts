/**
 * The errors of signed bytes that were submitted. A service or its relay may report a refusal and
 * still send the transaction. So the caller's own node is watched; only a receipt or a used nonce
 * decides.
 */
import { ApiError, ClientError, UnexpectedResponse } from "./errors.js";
import { errorFor, watchTransaction, type OutcomeWatch, type Seen } from "./finality.js";
import { OrderStillOpen, TransactionHashMismatch, type Submitted } from "./flow-errors.js";
import { remember, type Context, type SignedOrders } from "./polling.js";
import { isObject } from "./reading.js";

const LONGEST_ID = 100;

/** Throw the error for `error`, which occurred after the signed bytes were submitted. */
export async function throwOutcome(
  context: Context,
  error: unknown,
  submitted: Submitted,
  watch: (event: OutcomeWatch) => void,
): Promise<never> {
  if (!(error instanceof ClientError)) throw error;
  const { io, polling } = context;
  const sent = { ...submitted, orderId: submitted.orderId ?? orderOf(error) };
  let seen: Seen | undefined;
  if (io.hasNode) {
    const seconds = error instanceof OrderStillOpen ? 0 : polling.doubtS;
    watch({ why: error.message, sent, seconds });
    seen = await watchTransaction(context, sent, seconds);
  }
  if (error instanceof TransactionHashMismatch)
    throw new TransactionHashMismatch(error.txHash, error.namedHash, sent, seen?.fate);
  const fate = seen?.fate ?? "open";
  if (fate === "open" && error instanceof OrderStillOpen) throw error.of(sent);
  throw errorFor(fate, error.message, sent, error, seen?.receipt);
}

/**
 * Return it with the order that a refusal names, recorded, so that its end can be checked. An order of
 * another transaction stays what it is.
 */
export function rememberRefused(orders: SignedOrders, submitted: Submitted, error: unknown): Submitted {
  const orderId = submitted.orderId ?? (error instanceof ClientError ? orderOf(error) : undefined);
  if (orderId === undefined) return submitted;
  const sent = { ...submitted, orderId };
  try {
    remember(orders, orderId, sent);
  } catch (fault) {
    if (!(fault instanceof UnexpectedResponse)) throw fault;
  }
  return sent;
}

/** The order id in a refusal. Without one there may still be an order. */
export function orderOf(error: ClientError): string | undefined {
  const details: unknown = error instanceof ApiError ? error.details : undefined;
  const named = isObject(details) ? details["orderId"] : undefined;
  return typeof named === "string" && named ? named.slice(0, LONGEST_ID) : undefined;
}
