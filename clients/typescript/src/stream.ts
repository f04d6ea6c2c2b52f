/** The event stream: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { UnexpectedResponse } from "./errors.js";
import { COMMON, headersOf, pieces, urlOf, type Query, type Transport } from "./transport.js";

const LONGEST = 1 << 20;

/** `sequence` is where the next wait begins; `hasNews`: an event arrived. */
export interface StreamPlace {
  readonly sequence: number;
  readonly hasNews: boolean;
}

/** One block of the stream: its number, and its data if it is an event. */
interface Block {
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
  const media = answer.headers.get("content-type") ?? "";
  if (answer.status === 200 && media.startsWith("text/event-stream")) return answer;
  void answer.body?.cancel();
  return undefined;
}

/**
 * The blocks of one connection, until it ends or is silent for too long; `beat` is called with each
 * piece of it. Throws UnexpectedResponse for an endless event.
 */
export async function* blocks(answer: Response, beat?: () => void): AsyncGenerator<Block> {
  let rest = "";
  let id: number | undefined;
  let found: string[] = [];
  let size = 0;
  for await (const piece of pieces(answer.body && answer.body.pipeThrough(new TextDecoderStream()))) {
    beat?.();
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === "data") found.push(value);
      size += line.length;
      if (name === "id" && /^[0-9]{1,15}$/.test(value.trim())) id = Number(value);
      if (line) continue;
      yield { id, data: found.length ? found.join("\n") : undefined };
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
  const cut = new AbortController();
  const timer = setTimeout(() => cut.abort(), 1000 * (isOpening ? 30 : seconds));
  try {
    const answer = await openEvents(io, query, cut.signal);
    if (!answer) return undefined;
    for await (const { id, data } of blocks(answer)) {
      const hasNews = data !== undefined;
      if (id !== undefined) place = { sequence: id, hasNews };
      if (hasNews || (isOpening && place)) break;
    }
  } catch {
    // what was read so far counts
  } finally {
    clearTimeout(timer);
    cut.abort();
  }
  return place;
}
