/** Calls to the caller's own Ethereum node: https://ethereum.github.io/execution-apis */
import { toEventSelector } from "./evm.js";
import { NodeRpcError, NodeUnreachable, UnexpectedResponse, WrongChain } from "./errors.js";
import { QuoteDeclined } from "./flow-errors.js";
import { isObject, object, firstWord, quantity, textOf, word, type Json } from "./reading.js";
import type { RpcCall } from "./rpc-batch.js";
import { RECEIPT, rpc, type Transport } from "./transport.js";
import type { TransactionParams } from "./types.js";

/** The topic of an event. */
export const topicOf: (signature: string) => string = toEventSelector;
export const TRANSFER = topicOf("Transfer(address,address,uint256)");
/** The pseudo token under which routers and nodes name ETH. */
export const ETHER = `0x${"e".repeat(40)}`;
/** Logs each movement of ETH as a Transfer (https://eips.ethereum.org/EIPS/eip-7708). */
export const SYSTEM = `0x${"f".repeat(39)}e`;
const REVERTED = 3;
const FAILS = /revert|gas required exceeds|out of gas/i;
export const UINT256_MAX = 2n ** 256n - 1n;

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** The receipt of a mined transaction; gas in units and wei per unit. */
export interface Receipt {
  readonly transactionHash: string;
  /** Empty if the node does not name it. */
  readonly sender: string;
  readonly succeeded: boolean;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint;
  readonly logs: readonly Log[];
}

export const hex = (value: bigint | number) => `0x${value.toString(16)}`;

/** Whether a text is an address, with or without a checksum. */
export const isAddress = (text: unknown) => typeof text === "string" && /^0x[0-9a-fA-F]{40}$/.test(text);

/** A number or an address as 64 hex digits. */
export const pad = (value: bigint | number | string) =>
  (typeof value === "string" ? value.slice(2).toLowerCase() : value.toString(16)).padStart(64, "0");

export const balanceData = (wallet: string) => `0x70a08231${pad(wallet)}`;

export const allowanceData = (owner: string, spender: string) => `0xdd62ed3e${pad(owner)}${pad(spender)}`;

/** Reads of the node, as `readAhead` takes them. */
export const CHAIN_ID: RpcCall = ["eth_chainId", []];
export const LATEST: RpcCall = ["eth_getBlockByNumber", ["latest", false]];
export const TIP: RpcCall = ["eth_maxPriorityFeePerGas", []];
export const viewCall = (to: string, data: string, block = "latest"): RpcCall => ["eth_call", [{ to, data }, block]];
export const nonceCall = (wallet: string, block = "pending"): RpcCall => ["eth_getTransactionCount", [wallet, block]];
export const codeCall = (wallet: string): RpcCall => ["eth_getCode", [wallet, "latest"]];
export const etherCall = (wallet: string): RpcCall => ["eth_getBalance", [wallet, "latest"]];

/** Call a view function; returns the hex it returns. */
export const view = (io: Transport, to: string, data: string, block = "latest"): Promise<unknown> =>
  rpc(io, ...viewCall(to, data, block));

/** What the node answers; undefined if it answers with an error. */
export async function answered<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NodeRpcError) return undefined;
    throw error;
  }
}

/** Refuse a node of another chain, whose nonces do not apply. Throws WrongChain. */
export async function requireMainnet(io: Transport): Promise<void> {
  const found = small(await rpc(io, ...CHAIN_ID));
  if (found !== 1) throw new WrongChain(found);
}

export const nonceOf = async (io: Transport, wallet: string, block = "pending"): Promise<number> =>
  small(await rpc(io, ...nonceCall(wallet, block)));

export const estimateGas = async (io: Transport, transaction: object): Promise<bigint> =>
  quantity(await rpc(io, "eth_estimateGas", [transaction]));

export const balanceOf = async (io: Transport, token: string, wallet: string, block?: string): Promise<bigint> =>
  word(await view(io, token, balanceData(wallet), block));

export const allowanceOf = async (
  io: Transport,
  token: string,
  owner: string,
  spender: string,
  block?: string,
): Promise<bigint> => word(await view(io, token, allowanceData(owner, spender), block));

/** Before block `since`, which the node has shown, one of several backends is late: it is busy. */
export const latestBlock = async (io: Transport, since = 0): Promise<Json> =>
  object(
    await rpc(io, ...LATEST, (found) => {
      const number = quantity(object(found, "block")["number"]);
      if (number < since)
        throw new NodeUnreachable(`the node answers from block ${number} and has shown block ${since}`, true);
    }),
    "block",
  );

/**
 * The block to read at: the latest, or the one with the approval of just before. It is named, because of
 * several backends of a node one may be late and not have it.
 */
export const blockName = (since: number): string => (since ? hex(since) : "latest");

/** The allowance in block `since`; in the latest if that one's state is gone by now. */
export async function allowanceSince(
  io: Transport,
  token: string,
  owner: string,
  spender: string,
  since: number,
): Promise<bigint> {
  const at = await answered(allowanceOf(io, token, owner, spender, blockName(since)));
  if (at !== undefined) return at;
  const latest = since ? textOf((await latestBlock(io, since))["number"]) : undefined;
  return allowanceOf(io, token, owner, spender, latest);
}

export const baseFee = async (io: Transport): Promise<bigint> => quantity((await latestBlock(io))["baseFeePerGas"]);

/**
 * Refuse a transaction that may cost more ETH than the wallet holds: value + gas limit × fee cap, as a
 * node asks (EIP-1559); `wrapped` wei is what its calls wrap of the wallet's own ETH. Throws QuoteDeclined.
 */
export async function requireEth(io: Transport, wallet: string, params: TransactionParams, wrapped = 0n): Promise<void> {
  const cost = wrapped + BigInt(params.value) + BigInt(params.gasLimit) * BigInt(params.maxFeePerGas);
  const held = quantity(await rpc(io, ...etherCall(wallet)));
  if (held < cost)
    throw new QuoteDeclined(`the wallet holds ${held} wei of ETH, and the transaction may cost ${cost} wei`);
}

/** A transaction as a call, without gas and fee. */
export const callOf = (wallet: string, { to, data, value }: Pick<TransactionParams, "to" | "data" | "value">) => ({
  from: wallet,
  to,
  data,
  value: hex(BigInt(value)),
});

/** What `requireEth` and `requireSuccess` read. */
export const paymentReads = (wallet: string, params: TransactionParams): RpcCall[] => [
  etherCall(wallet),
  ["eth_estimateGas", [callOf(wallet, params)]],
];

/**
 * Refuse a transaction that fails at the caller's own node, or needs more gas than its limit: the
 * wallet's own code (EIP-7702) may revert, or use gas. Throws QuoteDeclined.
 */
export async function requireSuccess(io: Transport, what: string, wallet: string, params: TransactionParams): Promise<void> {
  const gas = await estimateGas(io, callOf(wallet, params)).catch((error: unknown) => {
    const fails = error instanceof NodeRpcError && (error.code === REVERTED || FAILS.test(error.message));
    throw fails ? new QuoteDeclined(`by your own node ${what} would fail (${error.message})`, ": not signed") : error;
  });
  if (gas > BigInt(params.gasLimit))
    throw new QuoteDeclined(
      `by your own node ${what} needs ${gas} gas, and its limit is ${params.gasLimit}`,
      ": not signed",
    );
}

/** The receipt; undefined until the transaction is mined. */
export async function receiptOf(io: Transport, txHash: string): Promise<Receipt | undefined> {
  const found = await rpc(io, RECEIPT, [txHash]);
  return found === null ? undefined : receiptIn(found);
}

/** A quantity as a number. */
export function small(value: unknown): number {
  const found = Number(quantity(value));
  if (!Number.isSafeInteger(found)) throw new UnexpectedResponse("the node answered a number beyond 2^53");
  return found;
}

export function isLog(value: unknown): value is Log {
  return (
    isObject(value) &&
    typeof value["address"] === "string" &&
    typeof value["data"] === "string" &&
    Array.isArray(value["topics"]) &&
    value["topics"].every((topic) => typeof topic === "string")
  );
}

/** The receipt that an answer is. Throws UnexpectedResponse. */
export function receiptIn(answer: unknown): Receipt {
  const found = object(answer, "receipt");
  const logs = found["logs"];
  if (!Array.isArray(logs) || !logs.every(isLog) || typeof found["transactionHash"] !== "string")
    throw new UnexpectedResponse("the node answered an unreadable receipt");
  return {
    transactionHash: found["transactionHash"],
    sender: typeof found["from"] === "string" ? found["from"] : "",
    succeeded: quantity(found["status"]) === 1n,
    blockNumber: small(found["blockNumber"]),
    gasUsed: quantity(found["gasUsed"]),
    effectiveGasPrice: quantity(found["effectiveGasPrice"]),
    logs,
  };
}

/** The number of the block with the last of these transactions; 0 without one. */
export const newestBlock = (mined: readonly { readonly receipt: Receipt }[]): number =>
  mined.at(-1)?.receipt.blockNumber ?? 0;

/** What `wallet` gained of `token`, from the receipt's Transfer events, in smallest units. */
export function received(found: Receipt, token: string, wallet: string): bigint {
  const me = pad(wallet);
  let gained = 0n;
  for (const { address, topics, data } of found.logs) {
    const [event, from, to] = topics;
    if (address.toLowerCase() !== token.toLowerCase() || topics.length !== 3 || event !== TRANSFER) continue;
    const moved = data.length > 2 ? firstWord(data) : 0n;
    if (to?.slice(2) === me) gained += moved;
    if (from?.slice(2) === me) gained -= moved;
  }
  return gained;
}
