/**
 * Calls of Uniswap's SwapRouter02: `multicall` with a deadline around one leg that pays the wallet,
 * or around legs that pay the router, and `sweepToken` last. One encoding is accepted for each set of
 * terms.
 */
import { getAddress } from "./evm.js";
import { V3_FEES } from "./generated/rules.js";
import { pad } from "./node.js";
import { WORD, address, asAddress, follow, parts, raw, refuse, uint } from "./words.js";

/** One path: `amount` of the first token buys the last. Without fees it is over Uniswap V2. */
export interface Leg {
  readonly amount: bigint;
  readonly tokens: readonly string[];
  readonly fees: readonly bigint[];
}

interface Call {
  readonly leg: Leg;
  readonly minimum: bigint;
  readonly to: string;
}

export interface Multicall {
  readonly legs: readonly Leg[];
  readonly deadline: bigint;
  readonly minimum: bigint;
  readonly wallet: string;
}

const MOST_CALLS = 16;
const ITSELF = asAddress(2n);

/** Whether the legs are one whose last pool pays the wallet: not over several pools of Uniswap V2. */
export const paysWallet = ([first, second]: readonly Leg[]): boolean =>
  !second && (first!.fees.length > 0 || first!.tokens.length === 2);

/** Return the terms of the call whose arguments are `args`; `nested` are the selectors within. */
export function readMulticall(args: string, nested: string): Multicall {
  const selectors = nested.split(" ");
  const calls = parts(args, 1, MOST_CALLS);
  const last = calls.pop() ?? "";
  const isSwept = calls.length > 0 && last.startsWith(selectors[3]!);
  const only = isSwept ? undefined : readLeg(last, selectors);
  const swept = last.slice(8);
  const bought = only ? "" : address(swept, 0);
  const found = {
    legs: only ? [only.leg] : calls.map((call) => toItself(readLeg(call, selectors), bought)),
    deadline: uint(args, 0),
    minimum: only ? only.minimum : uint(swept, 1),
    wallet: only ? only.to : address(swept, 2),
  };
  checkLegs(found.legs);
  if (encode(found, selectors) !== args) refuse("its encoding is not the accepted one of its terms");
  return found;
}

function toItself({ leg, to }: Call, swept: string): Leg {
  if (to !== ITSELF) refuse(`a leg pays ${getAddress(to)}, not the router`);
  const bought = leg.tokens.at(-1)!;
  if (bought !== swept) refuse(`a leg buys ${getAddress(bought)}, not ${getAddress(swept)}`);
  return leg;
}

function checkLegs(legs: readonly Leg[]): void {
  if (legs.some((leg) => leg.tokens[0] !== legs[0]!.tokens[0]))
    refuse("its legs do not sell the same token");
  if (legs.some((leg) => leg.amount === 0n))
    refuse("a leg sells an amount of 0, which means the router's own balance");
  for (const fee of legs.flatMap((leg) => leg.fees))
    if (!(V3_FEES as readonly number[]).includes(Number(fee))) refuse(`Uniswap V3 has no pools with a fee of ${fee}`);
}

function readLeg(call: string, [single, path, pair]: readonly string[]): Call {
  const words = call.slice(8);
  switch (call.slice(0, 8)) {
    case single: {
      const amount = uint(words, 4);
      const leg = { amount, tokens: [address(words, 0), address(words, 1)], fees: [uint(words, 2)] };
      return { leg, minimum: uint(words, 5), to: address(words, 3) };
    }
    case path: {
      const terms = follow(words, 0);
      const leg = { amount: uint(terms, 2), ...readPath(raw(terms, 0)) };
      return { leg, minimum: uint(terms, 3), to: address(terms, 1) };
    }
    case pair: {
      const named = follow(words, 2);
      const tokens: string[] = [];
      for (let at = 0n; at < uint(named, 0); at++) tokens.push(address(named, 1 + Number(at)));
      if (tokens.length < 2) refuse("a path has no pool", true);
      return { leg: { amount: uint(words, 0), tokens, fees: [] }, minimum: uint(words, 1), to: address(words, 3) };
    }
  }
  return refuse(`its multicall calls 0x${call.slice(0, 8)}`);
}

/** Tokens and fees of a V3 path: 20 bytes for a token, 3 for the fee to the next. */
function readPath(packed: string): Pick<Leg, "tokens" | "fees"> {
  if (packed.length < 86 || packed.length % 46 !== 40) refuse("a path has no whole pools", true);
  const groups = packed.match(/.{40,46}/g)!;
  return {
    tokens: groups.map((group) => `0x${group.slice(0, 40)}`),
    fees: groups.slice(0, -1).map((group) => BigInt(`0x${group.slice(40)}`)),
  };
}

/** Return the arguments of the only call that is accepted for these terms. */
function encode({ legs, deadline, minimum, wallet }: Multicall, selectors: readonly string[]): string {
  const direct = paysWallet(legs);
  const calls = legs.map((leg) =>
    encodeLeg(leg, direct ? minimum : 0n, direct ? wallet : ITSELF, selectors));
  if (!direct)
    calls.push(selectors[3]! + pad(legs[0]!.tokens.at(-1)!) + pad(minimum) + pad(wallet));
  const tails = calls.map(octets);
  let at = tails.length * 32;
  const heads = tails.map((tail) => {
    at += tail.length / 2;
    return pad(at - tail.length / 2);
  });
  return [pad(deadline), pad(64), pad(tails.length), ...heads, ...tails].join("");
}

function encodeLeg(leg: Leg, minimum: bigint, to: string, [single, path, pair]: readonly string[]): string {
  const tokens = leg.tokens.map(pad);
  const terms = pad(leg.amount) + pad(minimum);
  if (!leg.fees.length) return pair + terms + pad(128) + pad(to) + pad(tokens.length) + tokens.join("");
  if (leg.fees.length === 1) return single + tokens.join("") + pad(leg.fees[0]!) + pad(to) + terms + pad(0);
  const packed = leg.tokens.map((token, at) =>
    (at ? pad(leg.fees[at - 1]!).slice(-6) : "") + token.slice(2)).join("");
  return path + pad(32) + pad(128) + pad(to) + terms + octets(packed);
}

/** A byte string as words: its length, and the bytes padded to whole words. */
const octets = (data: string) =>
  pad(data.length / 2) + data.padEnd(Math.ceil(data.length / WORD) * WORD, "0");
