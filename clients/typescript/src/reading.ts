/** Reads what the service and the node answer. Every reader throws UnexpectedResponse. */
import { UnexpectedResponse, isObject } from "./errors.js";

export { isObject };

export type Json = Record<string, unknown>;

const MAX_UINT256 = 2n ** 256n - 1n;
const MOST_USD = 1e18;

function unreadable(name: string, wanted: string): never {
  throw new UnexpectedResponse(`unreadable answer (${name}: expected ${wanted})`);
}

export function object(value: unknown, name: string): Json {
  return isObject(value) ? value : unreadable(name, "an object");
}

export function text(value: unknown, name: string): string {
  return typeof value === "string" ? value : unreadable(name, "a text");
}

/** A text; empty for anything else. `String` of nested arrays would overflow the stack. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A decimal string of at most 2^256 - 1, in smallest units or wei. */
export function amount(value: unknown, name: string): bigint {
  const fits = typeof value === "string" && /^[0-9]{1,78}$/.test(value);
  const found = fits ? BigInt(value) : MAX_UINT256 + 1n;
  return found <= MAX_UINT256 ? found : unreadable(name, "a decimal string below 2^256");
}

/** A whole number from 0 to 2^53 - 1. */
export function count(value: unknown, name: string): number {
  const fits = Number.isSafeInteger(value) && (value as number) >= 0;
  return fits ? (value as number) : unreadable(name, "a whole number");
}

/** A USD value or percentage. */
export function figure(value: unknown, name: string): number {
  const fits = typeof value === "number" && Math.abs(value) <= MOST_USD;
  return fits ? value : unreadable(name, "a number between -10^18 and 10^18");
}

/** A member that is true or false, or absent. */
export function truth(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== "boolean") unreadable(name, "true or false");
}

/** A JSON-RPC quantity. */
export function quantity(value: unknown): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,64}$/.test(value))
    throw new UnexpectedResponse("something else than an Ethereum node answered there: no number came");
  return BigInt(value);
}

/** The number that a view function returned: empty data does not mean zero. */
export function word(value: unknown): bigint {
  if (typeof value !== "string" || value.length < 66)
    throw new UnexpectedResponse("no token contract, or something else than an Ethereum node, answered");
  return quantity(value.slice(0, 66));
}

/** Read members of an object by the same reader. */
export function each(read: (value: unknown, name: string) => unknown, found: Json, ...names: string[]): void {
  for (const name of names) read(found[name], name);
}

/** A member that is an object. */
export const inner = (found: Json, name: string): Json => object(found[name], name);

/** Read `transactionParams` and `providerMetadata`, which all quotes have somewhere. */
export function transaction(found: Json): void {
  const params = inner(found, "transactionParams");
  each(text, params, "to", "data");
  each(amount, params, "value", "gasLimit", "maxFeePerGas", "maxPriorityFeePerGas");
  each(count, params, "chainId", "type");
  if (params["nonce"] !== null) each(count, params, "nonce");
  try {
    JSON.stringify(inner(found, "providerMetadata"));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // too deep to be sent back with the signed bytes
    unreadable("providerMetadata", "fewer levels");
  }
}

export function swapQuote(quote: Json): void {
  each(text, quote, "source", "sellToken", "buyToken");
  each(amount, quote, "sellAmount", "buyAmount", "minBuyAmount");
  each(count, quote, "estimatedGas");
  each(text, inner(quote, "dexRoute"), "dex", "target", "data");
  each(figure, quote, "priceImpact");
  each(figure, inner(quote, "scoring"), "netValueUsd", "gasCostUsd");
  each(truth, quote, "priceImpactAvailable");
  each(truth, inner(quote, "scoring"), "priceAvailable");
  const analysis = inner(quote, "mevAnalysis");
  each(text, analysis, "threatLevel");
  each(figure, analysis, "estimatedProtectionUsd");
  transaction(inner(quote, "mevProtection"));
  const { status = "", bound } = object(quote["verification"] ?? {}, "verification");
  text(status, "verification.status");
  truth(bound, "verification.bound");
}

export function streamedRoute(route: Json): void {
  each(text, route, "source");
  each(amount, route, "buyAmount", "minBuyAmount");
}

export const OPEN: readonly string[] = ["pending", "submitted", "mining"];
export const TERMINAL: readonly string[] = ["confirmed", "failed", "cancelled"];

export function orderStatus(record: Json): void {
  each(text, record, "orderId", "status");
  const states = [...OPEN, ...TERMINAL];
  if (!states.includes(record["status"] as string)) unreadable("status", states.join(", "));
  if (record["txHash"] != null) each(text, record, "txHash");
}

/** `order` or `cancel` of a submission, whose members are the same, and its `tracking`. */
export const submission = (part: "order" | "cancel") => (answer: Json) => {
  const found = inner(answer, part);
  each(text, found, "orderId", "txHash");
  if (found["expiresAt"] != null) each(text, found, "expiresAt");
  each(figure, inner(answer, "tracking"), "pollingInterval");
};

export function history(page: Json): void {
  if (!Array.isArray(page["orders"])) unreadable("orders", "a list");
  for (const item of page["orders"]) orderStatus(object(item, "orders"));
}
