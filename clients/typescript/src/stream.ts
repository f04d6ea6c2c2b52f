/** The event stream: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { UnexpectedResponse } from "./errors.js";
import { parsed } from "./json.js";
import { check } from "./reading.js";
import { COMMON, headersOf, pieces, send, urlOf, whole } from "./transport.js";
import type { Call, Query, Transport } from "./transport.js";
import type { StreamedRoute, SwapQuote } from "./types.js";

const LONGEST = 1 << 20;

/** `sequence` is where the next wait begins; `hasNews`: an event arrived. */
export interface StreamPlace {
  readonly sequence: number;
  readonly hasNews: boolean;
}

/** One block of the stream: its number, and its name and data if it is an event. */
interface Block {
  readonly event: string | undefined;
  readonly id: number | undefined;
  readonly data: string | undefined;
}

/** Open the event stream; undefined where there is none for this client now. */
export async function openEvents(io: Transport, query: Query, signal: AbortSignal): Promise<Response | undefined> {
  const answer = await (io.options.fetch ?? fetch)(urlOf(io, "/mev/events", query), {
    ...COMMON,
    headers: headersOf(io, "text/event-stream"),
    signal,
  });
  if (isStream(answer)) return answer;
  void answer.body?.cancel();
  return undefined;
}

const isStream = ({ status, headers }: Response) =>
  status === 200 && (headers.get("content-type") ?? "").startsWith("text/event-stream");

/** Send the call of a quote as a stream, and hand each verified route on. Throws ClientError. */
export async function streamQuote(
  io: Transport,
  call: Call<SwapQuote>,
  verified: (route: StreamedRoute) => void,
): Promise<SwapQuote> {
  let fault: unknown;
  const read: typeof whole = async (answer, at) => {
    if (!isStream(answer)) return whole(answer, at);
    for await (const { event, data = "" } of blocks(answer)) {
      if (event === "answer") return data;
      if (event !== "route") continue;
      const route = parsed(data);
      check(route, "StreamedRoute", "route");
      try {
        verified(route as unknown as StreamedRoute);
      } catch (thrown) {
        fault = thrown;
        break;
      }
    }
    throw TypeError(); // cut: as a connection that fails
  };
  return send(io, { ...call, path: `${call.path}/stream` }, read).catch((error: unknown) => {
    throw fault ?? error;
  });
}

/**
 * The blocks of one connection, until it ends or is silent for too long; `beat` is called with each
 * piece of it. Throws UnexpectedResponse for an endless event.
 */
export async function* blocks(answer: Response, beat?: () => void): AsyncGenerator<Block> {
  let rest = "";
  let id: number | undefined;
  let event: string | undefined;
  let found: string[] = [];
  let size = 0;
  for await (const piece of pieces(answer.body && answer.body.pipeThrough(new TextDecoderStream("utf-8", { fatal: true, ignoreBOM: true })))) {
    beat?.();
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, value = ""] = /([^:]*):? ?(.*)/s.exec(line) ?? [];
      if (name === "data") found.push(value);
      if (name === "event") event = value;
      size += line.length;
      if (name === "id" && /^[0-9]{1,15}$/.test(value.trim())) id = Number(value);
      if (line) continue;
      yield { event, id, data: found.length ? found.join("\n") : undefined };
      event = undefined;
      found = [];
      size = 0;
    }
    if (size + rest.length > LONGEST) throw new UnexpectedResponse("an event has no end");
  }
}

/**
 * Wait up to `seconds` for an event of the query. With `isOpening` it does not wait: the outcome is
 * the place of the newest event. Undefined where there is no stream. A stream that breaks is no
 * error: the caller reads the status record, which says what is wrong.
 */
export async function awaitEvent(
  io: Transport,
  query: Query,
  isOpening: boolean,
  seconds: number,
): Promise<StreamPlace | undefined> {
  let place: StreamPlace | undefined;
  try {
    const answer = await openEvents(io, query, AbortSignal.timeout(1000 * (isOpening ? 30 : seconds)));
    if (!answer) return undefined;
    for await (const { id, data } of blocks(answer)) {
      const hasNews = data !== undefined;
      if (id !== undefined) place = { sequence: id, hasNews };
      if (hasNews || (isOpening && place)) break;
    }
  } catch {
    // what was read so far counts
  }
  return place;
}
