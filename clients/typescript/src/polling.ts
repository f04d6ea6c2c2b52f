/**
 * Following an order by its id. The status record is always read by a
 * request of its own; the event stream only says when.
 */
import { requireKnown, requireThat, requirePause, type Members } from "./arguments.js";
import { ApiError, ClientError, UnexpectedResponse } from "./errors.js";
import { OrderStillOpen, type Submitted } from "./flow-errors.js";
import { LEAST_INTERVAL_S, MOST_INTERVAL_S } from "./generated/rules.js";
import { TERMINAL } from "./reading.js";
import { requireSame } from "./signing.js";
import { segment, send, type Call, type Transport } from "./transport.js";
import type { OrderStatus, Schemas } from "./types.js";

export const SUGGESTED_S = 10;
const STREAM_WAIT_S = 25;
/** Requests until an answer of several backends behind one URL counts, if each may be late. */
export const BACKENDS = 3;
const LEAST_S = 0.2;
const USUAL_LIFE_S = 1800;
const GRACE_S = 60;

/** Intervals, timeouts and backoff, in seconds. */
export interface PollingOptions {
  /** Time between two polls of an order; without it the service's `pollingInterval`. */
  readonly intervalS?: number | undefined;
  /** Longest wait (300); null waits until the order expires, at most an hour. */
  readonly patienceS?: number | null | undefined;
  /** First pause after an error (1); it doubles with each failure. */
  readonly firstBackoffS?: number | undefined;
  /** Longest pause after an error (30). */
  readonly longestBackoffS?: number | undefined;
  /** Time between two receipt requests to the caller's own node (2). */
  readonly nodeIntervalS?: number | undefined;
  /** How long that node is watched when the service refuses what it already has (60). */
  readonly doubtS?: number | undefined;
  /** Called for each failure that is retried, with the error and the pause in s. */
  readonly onTrouble?: ((error: ClientError, seconds: number) => void) | undefined;
  /** Follow an order by its events where they arrive (true). */
  readonly stream?: boolean | undefined;
}

/** The options with the defaults of those that several flows read. */
export interface Polling extends PollingOptions {
  readonly nodeIntervalS: number;
  readonly doubtS: number;
}

const MEMBERS: Members<PollingOptions> = {
  intervalS: true,
  patienceS: true,
  firstBackoffS: true,
  longestBackoffS: true,
  nodeIntervalS: true,
  doubtS: true,
  onTrouble: true,
  stream: true,
};

/** The options with the defaults. Throws RangeError for an option that is not known, or wrong. */
export function pollingOf(options: PollingOptions = {}): Polling {
  requireKnown(options, MEMBERS);
  for (const name of ["intervalS", "firstBackoffS", "longestBackoffS", "nodeIntervalS"] as const)
    requirePause(name, options[name]);
  for (const name of ["patienceS", "doubtS"] as const)
    requireThat((options[name] ?? 0) >= 0, name, "0 or more", options[name]);
  const { nodeIntervalS = 2, doubtS = 60 } = options;
  return { ...options, nodeIntervalS, doubtS };
}

/** The longest wait in s; `endsInS` is the time until the order expires, if known. */
export const patienceOf = ({ patienceS = 300 }: Polling, endsInS = USUAL_LIFE_S): number =>
  patienceS ?? Math.min(Math.max(endsInS + GRACE_S, 300), 3600);

/** Report the nth failure in a row, and return the pause in s; at least what the service asks for. */
export function pauseOf(polling: Polling, failures: number, error: ClientError): number {
  const { firstBackoffS = 1, longestBackoffS = 30, onTrouble } = polling;
  const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  const grown = firstBackoffS * 2 ** Math.min(failures - 1, 16);
  const seconds = Math.max(Math.min(grown, longestBackoffS), asked);
  onTrouble?.(error, seconds);
  return seconds;
}

/**
 * What the caller signed for each order, by order id; of a swap with ETH by its transaction's hash, too. A Map
 * is one. Of a swap with ETH `set` is awaited before the transaction is submitted: if it throws, nothing is.
 */
export interface SignedOrders {
  get(orderId: string): Submitted | undefined;
  set(orderId: string, sent: Submitted): unknown;
  /** All of them: what they sell is counted before a swap behind them is signed. A swap with ETH needs it. */
  values?(): Iterable<Submitted>;
}

/** Called with what was signed before it is submitted; returns it as it is recorded. */
export type Recording = (sent: Submitted) => Promise<Submitted>;

/** Return it: an order is recorded once the service names it. */
export const unrecorded: Recording = async (sent) => sent;

/** Record the order's transaction. Throws UnexpectedResponse for the id of another one. */
export function remember(orders: SignedOrders, orderId: string, sent: Submitted): void {
  const known = orders.get(orderId);
  if (!known) orders.set(orderId, { ...sent, orderId });
  else if (known.txHash !== sent.txHash)
    throw new UnexpectedResponse(`the service named order ${orderId} for two transactions`);
}

/** What every flow needs. */
export interface Context {
  readonly io: Transport;
  readonly polling: Polling;
  readonly orders: SignedOrders;
}

/** Throw what is no ClientError on; return what may succeed later. */
export function transient(error: unknown): ClientError {
  if (error instanceof ClientError && error.isTransient) return error;
  throw error;
}

/** Repeat a request while its failures are transient; repeating it must be safe. */
export async function retryTransient<T>(
  { io, polling }: Context,
  ask: (attempt: number) => Promise<T>,
  attempts = 3,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(attempt);
    } catch (error) {
      const trouble = transient(error);
      if (attempt === attempts) throw trouble;
      await io.sleep(pauseOf(polling, attempt, trouble));
    }
  }
}

export const usageCall: Call<Schemas["UsageResponse"]> = { path: "/mev/usage", answer: "UsageEnvelope" };

/**
 * Refuse an API key that can request quotes but submit no order: the service would refuse the signed
 * swap, after an approval was paid for.
 */
export async function requireTradeScope(context: Context): Promise<void> {
  const { scope } = await retryTransient(context, () => send(context.io, usageCall));
  if (scope !== "read") return; // an older service does not send it
  const message = `this API key has the scope ${scope}; the operation needs trade`;
  throw new ApiError({ error: "FORBIDDEN", message, details: { scope, required: "trade" } }, 403);
}

export const orderStatusCall = (orderId: string): Call<OrderStatus> => ({
  path: `/mev/orders/${segment(orderId)}`,
  answer: "OrderStatusEnvelope",
});

export const isTerminal = (record: OrderStatus) => TERMINAL.includes(record.status);

/**
 * Return a function that waits for a change between two reads of a status record: by the event stream
 * while that works, at least `intervalS` without a change. The first wait finds the place only. The
 * status is also followed if the stream's module cannot be loaded.
 */
function changesOf(io: Transport, orderId: string, isStreamed = true) {
  let after: number | undefined;
  return async (intervalS: number, leftS: number): Promise<void> => {
    if (!isStreamed) return io.sleep(intervalS);
    const started = io.seconds();
    const isFirst = after === undefined;
    const seconds = Math.min(STREAM_WAIT_S, Math.max(leftS, intervalS));
    const stream = await import("./stream.js").catch(() => undefined);
    const place = await stream?.awaitEvent(io, { orderId, after }, isFirst, seconds);
    isStreamed = place !== undefined;
    after = place?.sequence ?? after;
    if (place && isFirst) return;
    const least = place?.hasNews ? LEAST_S : intervalS;
    const waited = io.seconds() - started;
    if (waited < least) await io.sleep(least - Math.max(waited, 0));
  };
}

/** The interval that a service may ask for, within bounds. */
const bounded = (seconds: number) =>
  Number.isFinite(seconds) ? Math.min(Math.max(seconds, LEAST_INTERVAL_S), MOST_INTERVAL_S) : MOST_INTERVAL_S;

/**
 * Call `look` until it returns something, and pause between. At the timeout `open` names the error;
 * failures of `look` that are not transient are thrown at once.
 */
async function poll<T>(
  { io, polling }: Context,
  interval: number,
  look: () => Promise<T | undefined>,
  open: (waited: number, trouble?: ClientError) => ClientError,
  pause = io.sleep as (seconds: number, leftS: number) => Promise<void>,
): Promise<T> {
  const started = io.seconds();
  for (let failures = 0; ; ) {
    let trouble: ClientError | undefined;
    let wait = interval;
    try {
      const found = await look();
      if (found) return found;
      failures = 0;
    } catch (error) {
      trouble = transient(error);
      wait = pauseOf(polling, (failures += 1), trouble);
    }
    const waited = io.seconds() - started;
    const most = patienceOf(polling);
    if (waited + wait > most) throw open(waited, trouble);
    await (trouble ? io.sleep(wait) : pause(wait, most - waited));
  }
}

/**
 * Follow the order until it is final or `isDecided`; call `watch` with each record. Throws
 * OrderStillOpen at the timeout, or the last transient error; TransactionHashMismatch when a record
 * names another hash.
 */
export async function followOrder(
  context: Context,
  orderId: string,
  watch: (record: OrderStatus) => void,
  suggestedS = SUGGESTED_S,
  signedHash?: string,
  isDecided = async () => false,
): Promise<OrderStatus> {
  const { io, polling } = context;
  let state = "unknown";
  const look = async () => {
    const record = await send(io, orderStatusCall(orderId));
    state = record.status;
    if (signedHash) requireSame(signedHash, record.txHash);
    watch(record);
    return isTerminal(record) || (await isDecided()) ? record : undefined;
  };
  const open = (waited: number, trouble?: ClientError) => trouble ?? new OrderStillOpen(orderId, state, waited);
  const interval = polling.intervalS ?? bounded(suggestedS);
  return poll(context, interval, look, open, changesOf(io, orderId, polling.stream));
}
