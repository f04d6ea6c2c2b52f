/** Reads of the caller's own node in one JSON-RPC batch, which one node answers. */
import { NodeRpcError, NodeUnreachable, UnexpectedResponse } from "./errors.js";
import { isObject } from "./reading.js";
import { LIST } from "./json.js";
import { NO_NODE, answerOf, fetched, keyOf, patiently, rpc, rpcOnce, type Transport } from "./transport.js";

/** A method with its parameters. */
export type RpcCall = readonly [method: string, params: readonly unknown[]];

/**
 * Send reads in one batch, so that one node answers all of them, in this order. A node that takes no
 * batch, or a provider, is asked one by one.
 */
export async function rpcAll(io: Transport, calls: readonly RpcCall[]): Promise<unknown[]> {
  const answers = await batched(io, calls, (readers) => readers.map((read) => read()));
  if (answers) return answers;
  const found: unknown[] = [];
  for (const [method, params] of calls) found.push(await rpc(io, method, params));
  return found;
}

/**
 * The same transport, which asks the node for each thing once. The moment ends where the flow waits,
 * sends, or asks the service: what follows is read anew, so that no decision rests on an answer from
 * before.
 */
export function oneMoment(io: Transport): Transport {
  const moment = new Map<string, unknown>();
  const sleep = (seconds: number) => {
    moment.clear();
    return io.sleep(seconds);
  };
  return { ...io, moment, sleep };
}

/**
 * Read at once what a flow reads next: in one batch, or in parallel where the node takes none. A call
 * that fails, or is refused for a while, is asked again where it is needed.
 */
export async function readAhead(io: Transport, calls: readonly RpcCall[]): Promise<void> {
  const missing = calls.filter(([method, params]) => !io.moment?.has(keyOf(method, params)));
  if (!missing.length) return;
  const keep = ([method, params]: RpcCall, found: unknown) => io.moment?.set(keyOf(method, params), found);
  const read = await batched(io, missing, (readers) => {
    let busy: unknown;
    const kept = readers.filter((reader, at) => {
      try {
        const call = missing[at];
        if (call) keep(call, reader());
        return true;
      } catch (error) {
        if (error instanceof NodeUnreachable && error.isBusy) busy ??= error;
        else rethrow(error);
        return false;
      }
    });
    if (busy !== undefined && !kept.length) throw busy;
    return kept;
  });
  if (!read)
    await Promise.allSettled(missing.map(async (call) => keep(call, await rpcOnce(io, call[0], call[1]))));
}

/** Throw an error on that is not the node's verdict on one call, or on batches. */
function rethrow(error: unknown): void {
  if (!(error instanceof NodeRpcError || error instanceof UnexpectedResponse)) throw error;
}

/** Send calls in one batch and `take` the answers; undefined if the node, or a provider, takes none. */
async function batched<T>(
  io: Transport,
  calls: readonly RpcCall[],
  take: (readers: (() => unknown)[]) => T,
): Promise<T | undefined> {
  const { rpcUrl } = io.options;
  if (typeof rpcUrl !== "string") return undefined;
  try {
    return await patiently(io, async () => take(await batchOnce(io, rpcUrl, calls)));
  } catch (error) {
    rethrow(error);
    return undefined;
  }
}

async function batchOnce(io: Transport, rpcUrl: string, calls: readonly RpcCall[]): Promise<(() => unknown)[]> {
  const name = `${calls.length} calls in one`;
  const sent = calls.map(([method, params], at) => ({ jsonrpc: "2.0", id: at + 1, method, params }));
  const { status, body } = await fetched(io, "the node", rpcUrl, {}, sent);
  const answers = Array.isArray(body[LIST]) ? body[LIST].filter(isObject) : [body];
  const found = calls.map((_, at) => answers.find((each) => each["id"] === at + 1));
  const isWhole = found.every((each) => each !== undefined) && Array.isArray(body[LIST]);
  // a refusal of the whole batch has the id of one call, or none
  if (!isWhole) for (const each of answers) answerOf(name, each, rpcUrl, status);
  if (!isWhole) throw new UnexpectedResponse(`${name}: ${NO_NODE}`);
  return calls.map(([method], at) => () => answerOf(method, found[at] ?? {}, rpcUrl, status));
}
