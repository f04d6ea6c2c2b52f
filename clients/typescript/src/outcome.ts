/**
 * The outcome of signed bytes that were submitted. A service or its relay may report a refusal and
 * still send the transaction. So the caller's own node is watched; only a receipt or a used nonce
 * decides.
 */
import { ApiError, ClientError } from "./errors.js";
import {
  MayBeMined,
  MinedAnyway,
  NeverMined,
  OrderStillOpen,
  TransactionFailed,
  TransactionHashMismatch,
  TransactionReplaced,
  type Outcome,
  type Submitted,
} from "./flow-errors.js";
import type { Receipt } from "./node.js";
import { waitForReceipt, type Context } from "./polling.js";
import { isObject } from "./reading.js";

/** Reads with a used nonce and no receipt: backends of one RPC URL may be at different blocks. */
const SURE_AFTER = 3;
const LONGEST_ID = 100;

/** Event: the caller's own node is now watched for `seconds`; `why` is the reason. */
export interface OutcomeWatch {
  readonly why: string;
  readonly sent: Submitted;
  readonly seconds: number;
}

export interface Seen {
  readonly fate: Outcome;
  readonly receipt?: Receipt;
}

/** Watch hash and nonce for at most `seconds`. If the node fails, the transaction counts as open. */
export async function watchOutcome(context: Context, sent: Submitted, seconds: number): Promise<Seen> {
  const patient = { ...context, polling: { ...context.polling, patienceS: seconds } };
  try {
    const receipt = await waitForReceipt(patient, sent, SURE_AFTER);
    return { fate: "mined", receipt };
  } catch (error) {
    if (error instanceof TransactionFailed) return { fate: "reverted" };
    if (error instanceof TransactionReplaced) return { fate: "replaced" };
    if (error instanceof ClientError) return { fate: "open" };
    throw error;
  }
}

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
    seen = await watchOutcome(context, sent, seconds);
  }
  if (error instanceof TransactionHashMismatch)
    throw new TransactionHashMismatch(error.txHash, error.namedHash, sent, seen?.fate);
  const fate = seen?.fate ?? "open";
  if (fate === "open" && error instanceof OrderStillOpen) throw error.of(sent);
  throw errorFor(fate, error.message, sent, error, seen?.receipt);
}

/** The error for an outcome. */
export function errorFor(
  fate: Outcome,
  why: string,
  sent: Submitted,
  cause?: ClientError,
  receipt?: Receipt,
): ClientError {
  if (fate === "mined") return new MinedAnyway(why, sent, cause, receipt);
  return fate === "open" ? new MayBeMined(why, sent, cause) : new NeverMined(why, sent, cause);
}

/** The order id in a refusal. Without one there may still be an order. */
export function orderOf(error: ClientError): string | undefined {
  const details: unknown = error instanceof ApiError ? error.details : undefined;
  const named = isObject(details) ? details["orderId"] : undefined;
  return typeof named === "string" && named ? named.slice(0, LONGEST_ID) : undefined;
}
