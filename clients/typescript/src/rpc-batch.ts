/** Reads of the caller's own node in one JSON-RPC batch, which one node answers. */
import { NodeRpcError, UnexpectedResponse } from "./errors.js";
import { isObject } from "./reading.js";
import { LIST } from "./json.js";
import { NO_NODE, answerOf, fetched, patiently, rpc, type Transport } from "./transport.js";

/** A method with its parameters. */
export type RpcCall = readonly [method: string, params: readonly unknown[]];

/**
 * Send reads in one batch, so that one node answers all of them, in this order. A node that takes no
 * batch, or a provider, is asked one by one.
 */
export async function rpcAll(io: Transport, calls: readonly RpcCall[]): Promise<unknown[]> {
  const { rpcUrl } = io.options;
  if (typeof rpcUrl === "string") {
    try {
      return await patiently(io, () => batchOnce(io, rpcUrl, calls));
    } catch (error) {
      if (!(error instanceof NodeRpcError || error instanceof UnexpectedResponse)) throw error;
    }
  }
  const found: unknown[] = [];
  for (const [method, params] of calls) found.push(await rpc(io, method, params));
  return found;
}

async function batchOnce(io: Transport, rpcUrl: string, calls: readonly RpcCall[]): Promise<unknown[]> {
  const name = `${calls.length} calls in one`;
  const sent = calls.map(([method, params], at) => ({ jsonrpc: "2.0", id: at + 1, method, params }));
  const { status, body } = await fetched(io, "the node", rpcUrl, {}, sent);
  const answers = Array.isArray(body[LIST]) ? body[LIST].filter(isObject) : [body];
  const found = calls.map((_, at) => answers.find((each) => each["id"] === at + 1));
  const isWhole = found.every((each) => each !== undefined) && Array.isArray(body[LIST]);
  // a refusal of the whole batch has the id of one call, or none
  if (!isWhole) for (const each of answers) answerOf(name, each, rpcUrl, status);
  if (!isWhole) throw new UnexpectedResponse(`${name}: ${NO_NODE}`);
  return calls.map(([method], at) => answerOf(method, found[at] ?? {}, rpcUrl, status));
}
