/** Signing with a viem account, a wallet's provider, or a function that signs elsewhere. */
import { getAddress, keccak256, parseTransaction, recoverTransactionAddress, serializeTransaction } from "./evm.js";
import { SignerMismatch, TransactionHashMismatch } from "./flow-errors.js";
import { hex } from "./node.js";
import { isObject } from "./reading.js";
import type { Eip1193Provider } from "./transport.js";
import type { Hex, TransactionParams } from "./types.js";

/** A transaction in the form of viem. Amounts in wei and gas units. */
export interface Transaction {
  readonly type: "eip1559";
  readonly chainId: 1;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly nonce: number;
}

/** What the client uses of a viem account. */
export interface Account {
  readonly address: string;
  signTransaction(transaction: Transaction): Promise<string>;
}

/** Takes the transaction to sign; returns the signed transaction as 0x-prefixed hex. */
export type SignFunction = (transaction: Transaction) => Promise<string> | string;

export type Signer = Account | SignFunction;

/** Half of the order of secp256k1: https://eips.ethereum.org/EIPS/eip-2 */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * A signer that asks a wallet's provider (EIP-1193) to sign with `eth_signTransaction`. Most browser
 * wallets sign only what they send themselves: those need an RPC URL of the service (docs/wallets.md).
 */
export function providerSigner(provider: Eip1193Provider, wallet: string): Account {
  return {
    address: getAddress(wallet),
    async signTransaction(transaction) {
      const found = await provider.request({
        method: "eth_signTransaction",
        params: [{ from: getAddress(wallet), ...quantities(transaction), type: "0x2" }],
      });
      const raw = isObject(found) ? found["raw"] : found;
      return raw as string;
    },
  };
}

/** The members of a transaction in the form of JSON-RPC, with numbers as hex. */
export const quantities = (members: Partial<Transaction>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, typeof value === "string" ? value : hex(value)]),
  );

/** The parameters of a checked quote as a transaction to sign. */
export function toSign(params: TransactionParams, nonce: number | null = params.nonce): Transaction {
  if (nonce === null) throw new RangeError("this quote leaves the nonce to the client: give one");
  return {
    type: "eip1559",
    chainId: 1,
    to: getAddress(params.to),
    data: params.data.toLowerCase() as Hex,
    value: BigInt(params.value),
    gas: BigInt(params.gasLimit),
    maxFeePerGas: BigInt(params.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(params.maxPriorityFeePerGas),
    nonce,
  };
}

/**
 * Return the signed transaction in lower case. Throws SignerMismatch when the signer returns another
 * transaction, or when another wallet signed: nothing is sent then.
 */
export async function sign(transaction: Transaction, signer: Signer, wallet: string): Promise<Hex> {
  const given: unknown = await (typeof signer === "function"
    ? signer({ ...transaction })
    : signer.signTransaction({ ...transaction }));
  if (typeof given !== "string") throw new SignerMismatch(`the signer returned ${typeof given}, not hex: not sent`);
  const raw = (given.startsWith("0x") ? given : `0x${given}`).toLowerCase() as `0x02${string}`;
  const [parsed, sender] = await parse(raw);
  if (sender.toLowerCase() !== wallet.toLowerCase())
    throw new SignerMismatch(`the signer signed for ${sender}, not for ${getAddress(wallet)}: not sent`);
  const { r, s, yParity } = parsed;
  if (serializeTransaction({ ...transaction }, { r, s, yParity }) !== raw) {
    const changed = Object.entries(transaction).flatMap(([name, value]) =>
      shown(value) === shown(parsed[name]) ? [] : [name],
    );
    throw new SignerMismatch(`the signer changed the transaction (${changed.join(", ") || "its form"}): not sent`);
  }
  return raw;
}

/** A member as comparable text; viem's parser leaves out those whose bytes are empty. */
const shown = (value: unknown) => (value && value !== "0x" ? String(value).toLowerCase() : "");

type Parsed = Record<string, unknown> & { r: Hex; s: Hex; yParity: number };

/** Return the signed transaction and its sender. Throws SignerMismatch. */
async function parse(raw: `0x02${string}`): Promise<[Parsed, string]> {
  try {
    const { r, s, yParity, ...members } = parseTransaction(raw);
    if (r === undefined || s === undefined || yParity === undefined || BigInt(s) > HALF_ORDER)
      throw new Error("its signature is not canonical");
    return [{ ...members, r, s, yParity }, await recoverTransactionAddress({ serializedTransaction: raw })];
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    throw new SignerMismatch(`the signer returned no usable transaction: ${why}`);
  }
}

/** The hash of signed bytes; it needs no request. */
export const hashOf: (signed: Hex) => Hex = keccak256;

/** The nonce of signed bytes. */
export const nonceIn = (signed: Hex): number => parseTransaction(signed as `0x02${string}`).nonce ?? 0;

/** Compare the hash that the service names with the signed one. Throws TransactionHashMismatch. */
export function requireSame(txHash: string, named: string | null | undefined): void {
  if (named != null && named.toLowerCase() !== txHash.toLowerCase())
    throw new TransactionHashMismatch(txHash, named);
}

/** The wallet of a request: named, or the account's own. */
export function walletOf(signer: Signer, wallet: string | undefined): string {
  if (wallet !== undefined) return wallet;
  if (typeof signer === "function")
    throw new RangeError("a signing function does not say its wallet: give `wallet`");
  return signer.address;
}
