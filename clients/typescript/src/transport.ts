/** Requests to the service and to the caller's own node, over `fetch`. */
import { ApiError, ClientError, NodeRpcError, NodeUnreachable, ServiceUnreachable, UnexpectedResponse } from "./errors.js";
import { masked, secretsOf } from "./foreign-text.js";
import { MAX_BODY } from "./generated/rules.js";
import { decoded, parsed } from "./json.js";
import { check, fits, isObject, type Json, type Shape } from "./reading.js";

const API = "/api/v1";
const NO_SERVICE = "something else than a quietswap service answered there";
export const NO_NODE = "something else than an Ethereum node answered there";

/** What a wallet extension offers (EIP-1193). */
export interface Eip1193Provider {
  request(call: { method: string; params?: unknown }): Promise<unknown>;
}

/** How the client reaches the outside; clock and pause can be replaced. */
export interface TransportOptions {
  /** Base address of the service. */
  readonly url: string;
  readonly apiKey: string;
  /** The caller's own Ethereum node: an address, or a provider that leads to it. */
  readonly rpcUrl?: string | Eip1193Provider | undefined;
  /** Longest wait for an answer, in ms (30,000). */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** Wait for so many seconds. */
  readonly sleep?: ((seconds: number) => Promise<void>) | undefined;
  /** A monotonic clock, in seconds. */
  readonly seconds?: (() => number) | undefined;
}

/** Members of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | bigint | undefined>>;

/** One request to the service, a POST if it has a body; `answer` is the shape of the envelope. */
export interface Call<T> {
  readonly path: string;
  readonly query?: Query;
  readonly body?: object;
  readonly answer: Shape;
  /** The member of `data` that is returned; all of it without. */
  readonly member?: string;
  /** Only for the type of the result. */
  readonly result?: T;
}

const isHttp = (url: unknown) => typeof url === "string" && /^https?:/i.test(url) && URL.canParse(url);

/** The pieces of a body, until it ends or the loop is left. */
export async function* pieces<T>(body: ReadableStream<T> | null): AsyncGenerator<T> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const piece = await reader?.read();
      if (!piece || piece.done) return;
      yield piece.value;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** Read at most MAX_BODY bytes after decompression; empty if they are no text. */
export async function whole(answer: Response, who: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let read = 0;
  for await (const piece of pieces(answer.body)) {
    read += piece.length;
    if (read > MAX_BODY) throw new UnexpectedResponse(`${who} answers more than ${MAX_BODY} bytes: not read`);
    parts.push(piece);
  }
  return decoded(await new Blob(parts as BlobPart[]).arrayBuffer());
}

/** An answer, and the object that its body is. */
interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** What requests need, from the options. */
export interface Transport {
  readonly options: TransportOptions;
  readonly base: string;
  readonly hasNode: boolean;
  readonly sleep: (seconds: number) => Promise<void>;
  readonly seconds: () => number;
  /** Pauses of a read while the node is busy, in s; none in a watch, which waits between its looks. */
  readonly busyPausesS: readonly number[];
  /** Results of the node by call, of one moment (`oneMoment`). */
  readonly moment?: Map<string, unknown>;
}

/** Throws RangeError with the name of a wrong option. */
export function transportOf(options: TransportOptions): Transport {
  const { url, apiKey, rpcUrl } = options;
  if (!isHttp(url)) throw new RangeError("url must be an http:// or https:// address");
  if (/[?#]/.test(url)) throw new RangeError("url must be a base address, without ? and #");
  if (typeof rpcUrl === "string" && !isHttp(rpcUrl))
    throw new RangeError("rpcUrl must be an http:// or https:// address");
  if (!/^[ -~]*$/.test(apiKey)) throw new RangeError("the API key holds characters that no key has");
  return {
    options,
    base: url.replace(/\/+$/, "") + API,
    hasNode: rpcUrl !== undefined,
    sleep: options.sleep ?? ((s) => new Promise((wake) => setTimeout(wake, 1000 * s))),
    seconds: options.seconds ?? (() => performance.now() / 1000),
    busyPausesS: BUSY_PAUSES_S,
  };
}

/**
 * Send a request to the service; `read` finds the body of the answer in a stream, which may hold a
 * refusal. Throws ClientError.
 */
export async function send<T>(io: Transport, call: Call<T>, read?: typeof whole): Promise<T> {
  io.moment?.clear();
  const url = urlOf(io, call.path, call.query);
  const headers = headersOf(io, read ? "text/event-stream" : "application/json");
  const { status, body } = await fetched(io, "the service", url, headers, call.body, read);
  if (status !== 200 || (read && body["ok"] === false)) {
    if (body["ok"] === false && fits(body, "ErrorEnvelope")) throw new ApiError(body, status);
    if (status >= 502 && status <= 504)
      throw new ServiceUnreachable(`HTTP ${status} from a gateway before the service`);
    throw new UnexpectedResponse(`${NO_SERVICE} (HTTP ${status} without an error envelope)`);
  }
  if (body["ok"] !== true || !("data" in body)) throw new UnexpectedResponse(`${NO_SERVICE} (HTTP 200)`);
  check(body, call.answer);
  const data = body["data"] as Json;
  return (call.member ? data[call.member] : data) as T;
}

/** Pauses of a read while the caller's own node is busy, in s: 16 s in all, a provider's window. */
const BUSY_PAUSES_S = [0.5, 1, 2, 4, 8];
const BUSY_STATUS = [429, 503];
/** JSON-RPC codes of rate limits (EIP-1474 has -32005 alone; providers have their own). */
const BUSY_CODES = [429, -32005, -32007, -32016, -32029, -32090, -32097];
const BUSY_WORDS = new RegExp(
  "rate.?limit|too many requests|request limit|over capacity" +
    // one of several backends behind the URL does not have the block yet
    "|header not found|unknown block|\\bblock\\b.*\\bnot\\b.*\\bfound|requested was",
  "i",
);
export const SEND = "eth_sendRawTransaction";
/** No error of it is a verdict: geth answers one while it indexes what it has. */
export const RECEIPT = "eth_getTransactionReceipt";

/**
 * Send a call to the caller's own node; a read is repeated while it is busy, also by `check`, and is
 * not sent again in one moment. Throws ClientError.
 */
export async function rpc(
  io: Transport,
  method: string,
  params: readonly unknown[],
  check: (found: unknown) => void = () => undefined,
): Promise<unknown> {
  if (method === SEND) io.moment?.clear();
  const key = keyOf(method, params);
  const once = async () => {
    const found = io.moment?.has(key) ? io.moment.get(key) : await rpcOnce(io, method, params);
    if (method !== SEND) io.moment?.set(key, found);
    check(found);
    return found;
  };
  return method === SEND ? once() : patiently(io, once);
}

/** Repeat a read while the own node is busy. */
export async function patiently<T>(io: Transport, once: () => Promise<T>): Promise<T> {
  for (const pause of io.busyPausesS) {
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof NodeUnreachable && error.isBusy)) throw error;
      await io.sleep(pause);
    }
  }
  return once();
}

export const keyOf = (method: string, params: readonly unknown[]) => JSON.stringify([method, params]);

export async function rpcOnce(io: Transport, method: string, params: readonly unknown[]): Promise<unknown> {
  const { rpcUrl } = io.options;
  if (rpcUrl === undefined) throw new RangeError(`${method} needs an Ethereum node: give rpcUrl`);
  if (typeof rpcUrl !== "string") return provided(rpcUrl, method, params);
  const { status, body } = await fetched(io, "the node", rpcUrl, {}, { jsonrpc: "2.0", id: 1, method, params });
  return answerOf(method, body, rpcUrl, status);
}

/** The result of one JSON-RPC answer. Throws NodeRpcError, NodeUnreachable or UnexpectedResponse. */
export function answerOf(method: string, answer: Json, rpcUrl: string, status: number): unknown {
  if (isObject(answer["error"])) throw rpcError(method, answer["error"], secretsOf(rpcUrl), status);
  if (status === 200 && "result" in answer) return answer["result"];
  if (status === 429 || status >= 500)
    throw new NodeUnreachable(`the node refuses to answer: HTTP ${status}`, BUSY_STATUS.includes(status));
  throw new UnexpectedResponse(`${method}: ${NO_NODE} (HTTP ${status}, no JSON-RPC result)`);
}

async function provided(provider: Eip1193Provider, method: string, params: readonly unknown[]): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    if (isObject(error) && typeof error["code"] === "number") throw rpcError(method, error, []);
    throw new NodeUnreachable(`the provider does not answer ${method} (${masked(error instanceof Error ? String(error) : error)})`);
  }
}

export const headersOf = ({ options }: Transport, accept: string) => ({ "X-API-Key": options.apiKey, Accept: accept });

export function urlOf({ base }: Transport, path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
  const text = new URLSearchParams(given).toString();
  return base + path + (text && `?${text}`);
}

/** Send a request; return status and body. Throws ClientError. */
export async function fetched(
  { options }: Transport,
  who: string,
  url: string,
  headers: Record<string, string>,
  body?: object,
  read = whole,
): Promise<Answer> {
  const at = `${who} at ${new URL(url).origin}`; // the rest of a node's URL often contains a key
  const signal = AbortSignal.timeout(options.timeoutMs ?? 30_000);
  const sent = body && {
    method: "POST",
    body: JSON.stringify(body),
    headers: { ...headers, "Content-Type": "application/json" },
  };
  try {
    const answer = await (options.fetch ?? fetch)(url, { ...COMMON, headers, ...sent, signal });
    return { status: answer.status, body: parsed(await read(answer, at)) };
  } catch (error) {
    if (error instanceof ClientError) throw error;
    const how = signal.aborted ? "in time" : "(connection failed)";
    const Kind = who === "the node" ? NodeUnreachable : ServiceUnreachable;
    throw new Kind(`${at} does not answer ${how}`);
  }
}

/** Redirects are not followed, because the API key belongs to one host. */
export const COMMON: RequestInit = {
  method: "GET",
  redirect: "manual",
  credentials: "omit",
  cache: "no-store",
  referrerPolicy: "no-referrer",
};

function rpcError(method: string, fault: Json, secrets: readonly string[], status = 200): ClientError {
  const code = typeof fault["code"] === "number" ? fault["code"] : 0;
  const message = masked(fault["message"], secrets);
  const isBusy = BUSY_STATUS.includes(status) || BUSY_CODES.includes(code) || BUSY_WORDS.test(message);
  if (isBusy || method === RECEIPT)
    return new NodeUnreachable(`${method}: the node is busy: ${message}`, isBusy);
  return new NodeRpcError(method, code, message);
}

/** Return a text as one segment of a path. Throws UnexpectedResponse if it is none (RFC 3986). */
export function segment(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new UnexpectedResponse(NO_SERVICE);
  }
}
