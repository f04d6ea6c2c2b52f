/** Calls to the caller's own Ethereum node: https://ethereum.github.io/execution-apis */
import { UnexpectedResponse, WrongChain } from "./errors.js";
import { isObject, object, quantity, word, type Json } from "./reading.js";
import type { Transport } from "./transport.js";

/** Topic of `Transfer(address,address,uint256)`. */
export const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
export const UINT256_MAX = 2n ** 256n - 1n;

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** The receipt of a mined transaction; gas in units and wei per unit. */
export interface Receipt {
  readonly transactionHash: string;
  readonly succeeded: boolean;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint;
  readonly logs: readonly Log[];
}

/** The latest block: `time` in Unix seconds, fees in wei per gas. */
export interface Block {
  readonly number: bigint;
  readonly time: bigint;
  readonly gasLimit: bigint;
  readonly baseFee: bigint;
  readonly nextBaseFee: bigint;
  readonly miner: string;
}

export const hex = (value: bigint | number) => `0x${value.toString(16)}`;

/** A number or an address as 64 hex digits. */
export const pad = (value: bigint | string) =>
  (typeof value === "string" ? value.slice(2).toLowerCase() : value.toString(16)).padStart(64, "0");

export const approvalData = (spender: string, amount: bigint) => `0x095ea7b3${pad(spender)}${pad(amount)}`;
export const balanceData = (wallet: string) => `0x70a08231${pad(wallet)}`;

export class Node {
  private readonly io: Transport;

  constructor(io: Transport) {
    this.io = io;
  }

  /** Call a view function; returns the hex it returns. */
  async view(to: string, data: string, block = "latest"): Promise<unknown> {
    return this.io.rpc("eth_call", [{ to, data }, block]);
  }

  /** Refuse a node of another chain, whose nonces do not apply. Throws WrongChain. */
  async requireMainnet(): Promise<void> {
    const found = await this.number("eth_chainId");
    if (found !== 1) throw new WrongChain(found);
  }

  nonce(wallet: string, block = "pending"): Promise<number> {
    return this.number("eth_getTransactionCount", wallet, block);
  }

  async balance(token: string, wallet: string, block?: string): Promise<bigint> {
    return word(await this.view(token, balanceData(wallet), block));
  }

  async allowance(token: string, owner: string, spender: string): Promise<bigint> {
    return word(await this.view(token, `0xdd62ed3e${pad(owner)}${pad(spender)}`));
  }

  /** The decimals of a token; undefined if no contract answers. */
  async decimals(token: string): Promise<bigint | undefined> {
    const found = await this.view(token, "0x313ce567");
    return found === "0x" ? undefined : word(found);
  }

  async estimateGas(transaction: object): Promise<bigint> {
    return quantity(await this.io.rpc("eth_estimateGas", [transaction]));
  }

  async tip(): Promise<bigint> {
    return quantity(await this.io.rpc("eth_maxPriorityFeePerGas", []));
  }

  async block(): Promise<Block> {
    const block = object(await this.io.rpc("eth_getBlockByNumber", ["latest", false]), "block");
    const [number, time, gasLimit, gasUsed, baseFee] = (
      ["number", "timestamp", "gasLimit", "gasUsed", "baseFeePerGas"] as const
    ).map((name) => quantity(block[name])) as [bigint, bigint, bigint, bigint, bigint];
    const miner = String(block["miner"]);
    return { number, time, gasLimit, baseFee, nextBaseFee: nextBaseFee(baseFee, gasUsed, gasLimit), miner };
  }

  async baseFee(): Promise<bigint> {
    const block = object(await this.io.rpc("eth_getBlockByNumber", ["latest", false]), "block");
    return quantity(block["baseFeePerGas"]);
  }

  /** Send a transaction to the public mempool. */
  async send(raw: string): Promise<void> {
    await this.io.rpc("eth_sendRawTransaction", [raw]);
  }

  /** The receipt; undefined until the transaction is mined. */
  async receipt(txHash: string): Promise<Receipt | undefined> {
    const found = await this.io.rpc("eth_getTransactionReceipt", [txHash]);
    return found === null ? undefined : receipt(object(found, "receipt"));
  }

  /** Sender in lower case and nonce of a transaction; undefined if the node does not know it. */
  async senderAndNonce(txHash: string): Promise<[string, number] | undefined> {
    const found = await this.io.rpc("eth_getTransactionByHash", [txHash]);
    if (found === null) return undefined;
    const { from, nonce } = object(found, "transaction");
    return [String(from).toLowerCase(), small(nonce)];
  }

  private async number(method: string, ...params: unknown[]): Promise<number> {
    return small(await this.io.rpc(method, params));
  }
}

function small(value: unknown): number {
  const found = Number(quantity(value));
  if (!Number.isSafeInteger(found)) throw new UnexpectedResponse("the node answered a number beyond 2^53");
  return found;
}

/** The base fee of the next block (https://eips.ethereum.org/EIPS/eip-1559). */
function nextBaseFee(baseFee: bigint, gasUsed: bigint, gasLimit: bigint): bigint {
  const target = gasLimit / 2n;
  if (target === 0n || gasUsed === target) return baseFee;
  if (gasUsed < target) return baseFee - (baseFee * (target - gasUsed)) / target / 8n;
  const grown = (baseFee * (gasUsed - target)) / target / 8n;
  return baseFee + (grown > 1n ? grown : 1n);
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

function receipt(found: Json): Receipt {
  const logs = found["logs"];
  if (!Array.isArray(logs) || !logs.every(isLog) || typeof found["transactionHash"] !== "string")
    throw new UnexpectedResponse("the node answered an unreadable receipt");
  return {
    transactionHash: found["transactionHash"],
    succeeded: quantity(found["status"]) === 1n,
    blockNumber: small(found["blockNumber"]),
    gasUsed: quantity(found["gasUsed"]),
    effectiveGasPrice: quantity(found["effectiveGasPrice"]),
    logs,
  };
}

/** What `wallet` gained of `token`, from the receipt's Transfer events, in smallest units. */
export function received(found: Receipt, token: string, wallet: string): bigint {
  const me = pad(wallet);
  let gained = 0n;
  for (const { address, topics, data } of found.logs) {
    const [event, from, to] = topics;
    if (address.toLowerCase() !== token.toLowerCase() || topics.length !== 3 || event !== TRANSFER) continue;
    const moved = data.length > 2 ? quantity(data.slice(0, 66)) : 0n;
    if (to?.slice(2) === me) gained += moved;
    if (from?.slice(2) === me) gained -= moved;
  }
  return gained;
}
