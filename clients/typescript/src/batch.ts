/**
 * Approve and swap in one transaction of a delegated wallet to itself (EIP-7702, ERC-7821), and with ETH the wrap
 * before them or the unwrap after them. The web page asks its wallet for the same calls.
 */
import { UnsafeQuote } from "./flow-errors.js";
import { WETH, WRAP_SELECTORS } from "./generated/rules.js";
import { pad } from "./node.js";
import { checkQuote, type SwapTerms } from "./quote-checks.js";
import type { SwapQuote, TransactionParams, WrapOperation } from "./types.js";

/** One call of a batch; `value` in wei. */
export interface BatchedCall {
  readonly name: "wrap" | "approval" | "swap" | "unwrap";
  readonly to: string;
  readonly value: bigint;
  readonly data: string;
}

/** `execute(bytes32,bytes)` of ERC-7821, and the mode of calls that all revert if one does. */
const EXECUTE = "e9ae5c53";
const MODE = `01${"0".repeat(62)}`;
/** `supportsExecutionMode(MODE)`. */
export const SUPPORTS_MODE = `0xd03c7914${MODE}`;
export const approvalData = (spender: string, amount: bigint) => `0x095ea7b3${pad(spender)}${pad(amount)}`;

/**
 * The calls of a quote's batch: the exact approval and the swap; of a wrap exactly what is sold, of an unwrap
 * the minimum. More than that is not certain when it is signed, and stays WETH.
 */
export function batchOf(quote: SwapQuote, conversion: WrapOperation | undefined): readonly BatchedCall[] {
  const { sellToken, dexRoute, sellAmount, minBuyAmount } = quote;
  const { target, data } = dexRoute;
  const unwrapped = pad(BigInt(minBuyAmount));
  const calls: Record<BatchedCall["name"], BatchedCall> = {
    wrap: { name: "wrap", to: WETH, value: BigInt(sellAmount), data: WRAP_SELECTORS.wrap },
    approval: { name: "approval", to: sellToken, value: 0n, data: approvalData(target, BigInt(sellAmount)) },
    swap: { name: "swap", to: target, value: 0n, data },
    unwrap: { name: "unwrap", to: WETH, value: 0n, data: WRAP_SELECTORS.unwrap + unwrapped },
  };
  const { wrap, approval, swap, unwrap } = calls;
  return [...(conversion === "wrap" ? [wrap] : []), approval, swap, ...(conversion === "unwrap" ? [unwrap] : [])];
}

type Part = readonly [name: string, hex: string];
/** What only says where the parts stand. */
const LAYOUT = "encoding";
const ARGUMENTS = { wrap: [], approval: ["spender", "amount"], swap: [], unwrap: ["amount"] };

/** The same quote with another transaction to sign. */
export const withParams = (quote: SwapQuote, transactionParams: SwapParams): SwapQuote => ({
  ...quote,
  mevProtection: { ...quote.mevProtection, transactionParams },
});

type SwapParams = SwapQuote["mevProtection"]["transactionParams"];

/**
 * Refuse a quote whose transaction is not the batch that was asked for, or whose swap `checkQuote` refuses.
 * Throws as that does.
 */
export function checkBatch(quote: SwapQuote, request: SwapTerms, settlers: readonly string[] = []): void {
  const params = quote.mevProtection.transactionParams;
  const { wallet, batchConversion } = request;
  const fault = batchFault(params, wallet, batchOf(quote, batchConversion));
  const eth = { wrap: "the wrap of what is sold, ", unwrap: "the unwrap of the minimum, " };
  if (fault)
    throw new UnsafeQuote(
      `the quote has another batch than ${batchConversion ? eth[batchConversion] : ""}the exact approval and the` +
        ` swap, in a transaction of the wallet to itself: another ${fault}`,
    );
  const { target: to, data } = quote.dexRoute;
  checkQuote(withParams(quote, { ...params, to, data }), request, settlers);
}

/**
 * Why a transaction is not exactly this batch of `wallet`, as the part that differs; undefined if it is, byte for
 * byte in the canonical encoding.
 */
function batchFault(
  params: TransactionParams,
  wallet: string,
  calls: readonly BatchedCall[],
): string | undefined {
  if (params.to.toLowerCase() !== wallet.toLowerCase()) return "receiver than the wallet itself";
  const data = params.data.toLowerCase();
  const wrong: string[] = [];
  let at = 2;
  for (const [name, hex] of partsOf(calls)) {
    if (data.slice(at, at + hex.length) !== hex) wrong.push(name);
    at += hex.length;
  }
  if (data.length !== at) wrong.push(LAYOUT);
  return wrong.find((name) => name !== LAYOUT) ?? wrong[0];
}

/** The calldata of `execute` in the canonical encoding, as named parts. */
function partsOf(calls: readonly BatchedCall[]): readonly Part[] {
  const each = calls.map(callParts);
  const size = (parts: readonly Part[]) => parts.reduce((sum, [, hex]) => sum + hex.length / 2, 0);
  const starts = each.map((_, at) => pad(32 * calls.length + size(each.slice(0, at).flat())));
  const inner: Part[] = [
    [LAYOUT, pad(32)],
    ["number of calls", pad(calls.length)],
    ...starts.map((start): Part => [LAYOUT, start]),
    ...each.flat(),
  ];
  return [["call", EXECUTE], ["mode", MODE], [LAYOUT, pad(64) + pad(size(inner))], ...inner];
}

function callParts({ name, to, value, data }: BatchedCall): readonly Part[] {
  const hex = data.slice(2).toLowerCase();
  const length = hex.length / 2;
  const names = ARGUMENTS[name];
  const head = names.length ? 8 : hex.length;
  return [
    [`target of the ${name}`, pad(to)],
    [`value of the ${name}`, pad(value)],
    [LAYOUT, pad(96) + pad(length)],
    [`calldata of the ${name}`, hex.slice(0, head)],
    ...names.map((argument, at): Part => [
      `${argument} of the ${name}`,
      hex.slice(head + 64 * at, head + 64 * (at + 1)),
    ]),
    [LAYOUT, "0".repeat((64 - (hex.length % 64)) % 64)],
  ];
}
