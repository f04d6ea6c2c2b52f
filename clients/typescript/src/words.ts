/**
 * A strict reader of calldata as 32-byte words: data beyond the end is an error, never zero. Words are
 * hex digits after the selector, in lower case.
 */
import { pad } from "./node.js";

/** Hex digits per word. */
export const WORD = 64;

/** No proof exists that the router enforces the terms; the message names the rule. */
export class UnboundCalldata extends Error {
  declare readonly isMalformed: boolean;

  constructor(message: string, isMalformed = false) {
    super(message);
    this.isMalformed = isMalformed;
  }
}

/** Throw UnboundCalldata. */
export function refuse(rule: string, isMalformed = false): never {
  throw new UnboundCalldata(rule, isMalformed);
}

export function uint(words: string, index: number): bigint {
  const found = words.slice(index * WORD, (index + 1) * WORD);
  if (found.length !== WORD) refuse("it ends before its fields do", true);
  return BigInt(`0x${found}`);
}

/** An address in lower case. */
export function address(words: string, index: number): string {
  const value = uint(words, index);
  if (value >> 160n) refuse("an address field holds more than an address", true);
  return asAddress(value);
}

/** The words at the offset in word `index`, relative to the first word. */
export function follow(words: string, index: number): string {
  const start = 2n * uint(words, index);
  if (start > words.length) refuse("an offset points beyond its end", true);
  return words.slice(Number(start));
}

/** The byte string at the offset in word `index`, as hex digits. */
export function raw(words: string, index: number): string {
  const tail = follow(words, index);
  const end = 2n * uint(tail, 0) + 64n;
  if (end > tail.length) refuse("a byte string is longer than what is there", true);
  return tail.slice(WORD, Number(end));
}

/** The byte strings of the array at the offset in word `index`, at most `most`. */
export function parts(words: string, index: number, most: number): string[] {
  const array = follow(words, index);
  const count = uint(array, 0);
  if (count > most) refuse("it has too many parts", true);
  return Array.from({ length: Number(count) }, (_, at) => raw(array.slice(WORD), at));
}

/** The low 160 bits as an address. */
export const asAddress = (value: bigint) => `0x${pad(value).slice(24)}`;
