/** The events of all orders of a client, over one connection after the other. */
import { UnexpectedResponse } from "./errors.js";
import { parsed } from "./json.js";
import { check, isObject } from "./reading.js";
import { blocks, openEvents } from "./stream.js";
import { send, type Query, type Transport } from "./transport.js";
import type { OrderEvent } from "./types.js";

/** A stream has a comment every ten seconds: after so long a silence the connection is dead. */
const SILENCE_MS = 30_000;

/** What to follow; `after` is the number of the last event that was handled. */
export interface EventsOptions {
  readonly after?: number | undefined;
  readonly orderId?: string | undefined;
  readonly userAddress?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Yield the events of the client's orders, in order, without a gap. A connection that ends is
 * opened again at the last event. Ends with `signal`; throws the service's refusal, for example
 * EVENTS_PRUNED.
 */
export async function* followEvents(io: Transport, options: EventsOptions): AsyncGenerator<OrderEvent> {
  const { orderId, userAddress, signal } = options;
  let place = options.after;
  for (let failures = 0; !signal?.aborted; ) {
    const cut = new AbortController();
    const stop = () => cut.abort();
    signal?.addEventListener("abort", stop);
    let timer = setTimeout(stop, SILENCE_MS);
    const beat = () => {
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
    };
    const query = { orderId, userAddress, after: place };
    try {
      const answer = await openEvents(io, query, cut.signal);
      if (!answer) await refusal(io, query);
      for await (const { id, data } of answer ? blocks(answer, beat) : []) {
        failures = 0;
        const found = data === undefined ? undefined : event(data);
        if (found) yield found;
        place = id ?? place;
      }
    } catch (error) {
      if (error instanceof UnexpectedResponse || isRefusal(error)) throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      cut.abort();
    }
    failures += 1;
    if (!signal?.aborted) await io.sleep(Math.min(2 ** failures, 30));
  }
}

/** Return the event of an order; undefined for one of anything else. */
function event(data: string): OrderEvent | undefined {
  const found = parsed(data);
  const type = isObject(found) ? found["type"] : undefined;
  if (typeof type === "string" && !type.startsWith("order.")) return undefined;
  check(found, "OrderEventMessage", "event");
  return found as unknown as OrderEvent;
}

const isRefusal = (error: unknown) => isObject(error) && error["name"] === "ApiError" && !error["isTransient"];

/** Ask again for the answer's body, which says why there is no stream. */
const refusal = (io: Transport, query: Query) =>
  send(io, { path: "/mev/events", query, answer: "ErrorEnvelope" });
