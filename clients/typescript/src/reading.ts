/** Reads what the service and the node answer. Every reader throws UnexpectedResponse. */
import { UnexpectedResponse, isObject } from "./errors.js";
import { SHAPES } from "./generated/shapes.js";
import { unreadable, type Json } from "./json.js";

export { isObject, type Json };

/** An answer whose members the contract declares. */
export type Shape = keyof typeof SHAPES;

const MAX_UINT256 = 2n ** 256n - 1n;
const MOST_USD = 1e18;
const LEAST_USD = 1e-30;
const TIME = /^(?!0000)(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):?(\d\d))?$/;

export const object = (value: unknown, name: string): Json => (isObject(value) ? value : unreadable(name, "an object"));

/** A text; empty for anything else. `String` of nested arrays would overflow the stack. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A decimal string of at most 2^256 - 1, in smallest units or wei. */
const isAmount = (value: unknown) =>
  typeof value === "string" && /^[0-9]{1,78}$/.test(value) && BigInt(value) <= MAX_UINT256;

/** A USD value or percentage. */
const isFigure = (value: unknown) =>
  typeof value === "number" && (!value || (Math.abs(value) <= MOST_USD && Math.abs(value) >= LEAST_USD));

/** A date and time of RFC 3339; without an offset it is UTC. */
function isTime(value: unknown): boolean {
  const [, date, time, hours = "0", minutes = "0"] = TIME.exec(textOf(value)) ?? [];
  const at = new Date(`${date}T${time}Z`);
  const isReal = Number.isFinite(at.getTime()) && at.toISOString().startsWith(`${date}T${time}`);
  return isReal && Number(hours) < 24 && Number(minutes) < 60;
}

/** Whether a value is of a kind of the shapes, and what it should be. */
const KINDS: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  text: [(value) => typeof value === "string", "a text"],
  amount: [isAmount, "a decimal string below 2^256"],
  count: [(value) => Number.isSafeInteger(value) && (value as number) >= 0, "a whole number"],
  byte: [(value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255, "0 to 255"],
  integer: [Number.isInteger, "a whole number"],
  figure: [isFigure, "a number between -10^18 and 10^18"],
  number: [(value) => typeof value === "number", "a number"],
  truth: [(value) => typeof value === "boolean", "true or false"],
  time: [isTime, "a date and time"],
  object: [isObject, "an object"],
};

/** Check a value by its kind or shape, as the Python client does by the same contract. */
export function check(value: unknown, kind: string, name = "answer"): void {
  if (kind.endsWith("?")) {
    if (value !== null) check(value, kind.slice(0, -1), name);
  } else if (kind.startsWith("[]")) {
    if (!Array.isArray(value)) unreadable(name, "a list");
    for (const item of value) check(item, kind.slice(2), name);
  } else if (Object.hasOwn(SHAPES, kind)) checkMembers(object(value, name), SHAPES[kind as Shape]);
  else {
    const [is, wanted] = KINDS[kind] ?? [(text) => kind.split("|").includes(textOf(text)), kind];
    if (!is(value)) unreadable(name, wanted);
  }
}

function checkMembers(value: Json, members: string): void {
  for (const member of members.split(" ")) {
    const [, name = "", maybe, kind = ""] = /^(\w+)(\??):(.+)$/.exec(member) ?? [];
    if (Object.hasOwn(value, name)) check(value[name], kind, name);
    else if (!maybe) unreadable(name, "a member");
  }
}

/** Whether a value is of a shape. */
export function fits(value: unknown, shape: Shape): boolean {
  try {
    check(value, shape);
    return true;
  } catch {
    return false;
  }
}

const numberOf = (value: unknown, form: RegExp): bigint => {
  if (typeof value !== "string" || !form.test(value))
    throw new UnexpectedResponse("something else than an Ethereum node answered there: no number came");
  return BigInt(value);
};

/** A JSON-RPC quantity: it has no leading zeros. */
export const quantity = (value: unknown): bigint => numberOf(value, /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/);

/** The number of the first word of hex data. */
export const firstWord = (data: string): bigint => numberOf(data.slice(0, 66), /^0x[0-9a-fA-F]{1,64}$/);

/** The number that a view function returned: empty data does not mean zero. */
export function word(value: unknown): bigint {
  if (typeof value !== "string" || value.length < 66)
    throw new UnexpectedResponse("no token contract, or something else than an Ethereum node, answered");
  return firstWord(value);
}

export const OPEN: readonly string[] = ["pending", "submitted", "mining"];
export const TERMINAL: readonly string[] = ["confirmed", "failed", "cancelled"];
