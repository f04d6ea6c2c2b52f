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

function transaction(value: unknown): void {
  const params = object(value, "transactionParams");
  for (const name of ["to", "data"]) text(params[name], name);
  for (const name of ["value", "gasLimit", "maxFeePerGas", "maxPriorityFeePerGas"])
    amount(params[name], name);
  for (const name of ["chainId", "type"]) count(params[name], name);
  if (params["nonce"] !== null) count(params["nonce"], "nonce");
}

function protection(value: unknown): void {
  const found = object(value, "mevProtection");
  transaction(found["transactionParams"]);
  object(found["providerMetadata"], "providerMetadata");
}

export function swapQuote(quote: Json): void {
  for (const name of ["source", "sellToken", "buyToken"]) text(quote[name], name);
  for (const name of ["sellAmount", "buyAmount", "minBuyAmount"]) amount(quote[name], name);
  count(quote["estimatedGas"], "estimatedGas");
  const route = object(quote["dexRoute"], "dexRoute");
  for (const name of ["dex", "target", "data"]) text(route[name], name);
  figure(object(quote["scoring"], "scoring")["netValueUsd"], "netValueUsd");
  const analysis = object(quote["mevAnalysis"], "mevAnalysis");
  text(analysis["threatLevel"], "threatLevel");
  figure(analysis["estimatedProtectionUsd"], "estimatedProtectionUsd");
  protection(quote["mevProtection"]);
  const verification = quote["verification"] ?? {};
  const { status = "", bound = true } = object(verification, "verification");
  text(status, "verification.status");
  if (typeof bound !== "boolean") unreadable("verification.bound", "true or false");
}

export function wrapQuote(quote: Json): void {
  for (const name of ["quoteId", "operation", "amount"]) text(quote[name], name);
  amount(quote["amountWei"], "amountWei");
  protection(quote["mevProtection"]);
}

export function cancelQuote(quote: Json): void {
  text(quote["orderId"], "orderId");
  transaction(quote["transactionParams"]);
  object(quote["providerMetadata"], "providerMetadata");
}

const STATES = ["pending", "submitted", "mining", "confirmed", "failed", "cancelled"];

export function orderStatus(record: Json): void {
  text(record["orderId"], "orderId");
  if (!STATES.includes(text(record["status"], "status"))) unreadable("status", STATES.join(", "));
  if (record["txHash"] != null) text(record["txHash"], "txHash");
}

/** `order` or `cancel` of a submission, whose members are the same, and its `tracking`. */
export function submission(part: "order" | "cancel"): (answer: Json) => void {
  return (answer) => {
    const found = object(answer[part], part);
    text(found["orderId"], "orderId");
    text(found["txHash"], "txHash");
    if (found["expiresAt"] != null) text(found["expiresAt"], "expiresAt");
    figure(object(answer["tracking"], "tracking")["pollingInterval"], "pollingInterval");
  };
}

export function history(page: Json): void {
  if (!Array.isArray(page["orders"])) unreadable("orders", "a list");
  for (const item of page["orders"]) orderStatus(object(item, "orders"));
}
