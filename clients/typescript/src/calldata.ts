/**
 * Decodes the terms that a router's own code enforces, and refuses all other calldata. The layouts of
 * `ROUTERS` are proofs, one per router and method.
 */
import { getAddress, getCreate2Address, keccak256 } from "./evm.js";
import { ROUTERS, V2_FACTORIES, V3_FACTORY, V3_FEES } from "./generated/rules.js";
import type { Layout, Router } from "./method-row.js";
import { ETHER, pad } from "./node.js";
import { paysWallet, readMulticall } from "./swap-router02.js";
import type { Hex } from "./types.js";
import { WORD, address, asAddress, follow, raw, refuse, uint } from "./words.js";

/**
 * The terms that a router enforces: addresses in lower case, amounts in smallest units.
 * `minBuyAmount` is the least the wallet gets after every fee. Without `recipient` the sender gets
 * it. `settler` must be one of 0x's genuine Settlers. `deadline` is the last second in
 * which the router executes the call.
 */
export interface Terms {
  readonly minBuyAmount: bigint;
  readonly recipient: string | undefined;
  readonly sellToken: string;
  readonly buyToken: string;
  readonly sellAmount: bigint;
  readonly settler?: string;
  readonly pool?: string;
  readonly deadline?: bigint;
}

const NOBODY = asAddress(0n);
const NATIVE = [NOBODY, ETHER];
const ADDRESS_MASK = 2n ** 160n - 1n;
const MOST_FEE_BPS = 200n;
const UNKNOWN_PARTNER_BITS = (1n << 90n) - (1n << 14n);
const TOP_BIT = 1n << 255n;
const BUY_FEE = 0x40n;
const DEX_ZERO_FOR_ONE = 1n << 247n;
const DEX_KNOWN = ADDRESS_MASK | (0xffffffffn << 160n) | DEX_ZERO_FOR_ONE | (1n << 251n) | (7n << 253n);

const routerOf = (router: string): Router | undefined => ROUTERS[router.toLowerCase()];
const selectorOf = (data: string) => data.slice(2, 10).toLowerCase();

/** Whether the router compares the wallet's balance with the minimum, and so sees a transfer fee. */
export function measuresRecipient(router: string, data: string): boolean {
  const [, , , , , measures = false] = routerOf(router)?.[1][selectorOf(data)] ?? [];
  return measures;
}

/**
 * Return the terms that `router` enforces for `data` (0x-prefixed hex). Throws UnboundCalldata with
 * the broken rule.
 */
export function decode(router: string, data: string, buyToken: string): Terms {
  const layout = layoutOf(router, data);
  const [, , , , , , nested] = layout;
  const deadline = layout[21];
  const read = deadline !== undefined ? multicallTerms : nested ? settlerTerms : plainTerms;
  const terms = read(layout, data.slice(10).toLowerCase(), buyToken.toLowerCase());
  if (NATIVE.includes(terms.sellToken) || NATIVE.includes(terms.buyToken))
    refuse("it trades native ETH");
  if (terms.sellToken === terms.buyToken) refuse("it sells and buys the same token");
  if (terms.sellAmount === 0n)
    refuse("it sells an amount of 0, which may mean another one");
  if (terms.minBuyAmount <= 0n) refuse("its minimum is 0: nothing is enforced");
  return terms;
}

/** The contract whose transfer pays the wallet: the router, 0x's Settler or a pool. */
export function payer(router: string, data: string, buyToken: string): string {
  try {
    const terms = decode(router, data, buyToken);
    return terms.settler ?? terms.pool ?? router;
  } catch {
    return router;
  }
}

/** The layout of the method. Refuses a method without one, by its reason. */
function layoutOf(router: string, data: string): Layout {
  const known = routerOf(router);
  if (!known) refuse(`nothing is known of what the router ${getAddress(router)} enforces`);
  const [name, layouts, refusals] = known;
  const selector = selectorOf(data);
  for (const [reason, methods] of Object.entries(refusals)) {
    const words = methods.split(" ");
    const at = words.indexOf(selector);
    if (at >= 0) refuse(`${words[at + 1]}: ${reason}`);
  }
  const layout = layouts[selector];
  if (layout) return layout;
  const method = data.length >= 10 ? `0x${selector}` : "without a selector";
  refuse(`the method ${method} of ${name} is not a known one`);
}

function plainTerms(layout: Layout, args: string, wanted: string): Terms {
  const [sell, amount, minimum, buy, recipient, , , zeroIsSender, within = [], flags, allowedFlags, ...rest] = layout;
  const [permit, permitWithin, quoted, partner, dust, pools, poolSize, wrap, dex, fees] = rest;
  const words = within.reduce((inner, index) => follow(inner, index), args);
  if (flags !== undefined) checkFlags(uint(words, flags), allowedFlags);
  if (fees !== undefined && !(uint(words, flags!) & BUY_FEE) && uint(follow(words, fees), 0))
    refuse("it takes a fee from the token sold, beside the amount");
  if (permit !== undefined && raw(permitWithin ? words : args, permit))
    refuse("it carries a permit");
  if (wrap !== undefined && (uint(args, wrap) >> 161n) & 3n) refuse("its wrap flag is set");
  const sellToken = address(words, sell);
  const pool = dex === undefined ? undefined : derived(sellToken, wanted, uint(words, dex));
  const buyToken = pool === undefined ? address(words, buy!) : wanted;
  if (pools !== undefined) checkPools(raw(words, pools), poolSize!, sellToken, buyToken);
  const minBuyAmount = least(words, args, minimum, quoted, partner) - BigInt(dust ?? 0);
  const named = recipient === undefined ? undefined : address(words, recipient);
  return {
    minBuyAmount,
    recipient: named === NOBODY && zeroIsSender !== false ? undefined : named,
    sellToken,
    buyToken,
    sellAmount: uint(words, amount),
    ...(pool !== undefined && { pool }),
  };
}

function checkFlags(flags: bigint, allowed: number | bigint = 0): void {
  const refused = flags & ~BigInt(allowed);
  if (refused & 1n) refuse("it may sell only a part: flag 0x1");
  if (refused) refuse(`its flag 0x${(refused & -refused).toString(16)} is not allowed`);
}

/** The minimum less what may be taken from it: fee and surplus of Augustus. */
function least(
  words: string,
  args: string,
  at: number,
  quoted: number | undefined,
  partnerAt: number | undefined,
): bigint {
  const minimum = uint(words, at);
  if (quoted !== undefined && uint(words, quoted) < minimum)
    refuse("its quotedAmount lies below its minimum: all above it may be taken");
  const partner = partnerAt === undefined ? 0n : uint(args, partnerAt);
  if (partner & UNKNOWN_PARTNER_BITS) refuse("its partnerAndFee has unknown bits");
  const fee = partner & 0x3fffn;
  return minimum - (minimum * (fee < MOST_FEE_BPS ? fee : MOST_FEE_BPS)) / 10_000n;
}

/** Check Augustus' `pools`. The UniswapV3 form pulls the token of the first group. */
function checkPools(pools: string, size: number, sell: string, buy: string): void {
  if (!pools || pools.length % (2 * size))
    refuse(`its pools are no whole groups of ${size} bytes`, true);
  if (size !== 96) return;
  let token = sell;
  for (let first = 0; first < pools.length / WORD; first += 3) {
    const head = uint(pools, first);
    if (head & (TOP_BIT - 1n) & ~ADDRESS_MASK)
      refuse("a pool's first word holds more than direction and token", true);
    const low = asAddress(head & ADDRESS_MASK);
    const high = address(pools, first + 1);
    if (low >= high) refuse("a pool's tokens are not in order", true);
    const [sold, bought] = head & TOP_BIT ? [low, high] : [high, low];
    if (sold !== token)
      refuse(`its pools sell ${getAddress(sold)}, not ${getAddress(token)}`);
    token = bought;
  }
  if (token !== buy) refuse(`its pools buy ${getAddress(token)}, not ${getAddress(buy)}`);
}

/** Return the pool that `dex` names, whose address proves the tokens. */
function derived(sell: string, buy: string, dex: bigint): string {
  if (dex & ~DEX_KNOWN)
    refuse("its pool's word unwraps, uses Permit2 or has unknown bits");
  const protocol = dex >> 253n;
  if (protocol > 1n) refuse("its pool is neither of Uniswap V2's nor of Uniswap V3's kind");
  const pool = asAddress(dex & ADDRESS_MASK);
  if (!poolsOf(sell, buy, protocol === 1n).includes(pool))
    refuse(`its pool ${getAddress(pool)} is not derived from a known factory`);
  if (((dex & DEX_ZERO_FOR_ONE) !== 0n) !== sell < buy)
    refuse("its pool is asked to sell the token bought");
  return pool;
}

/** The two tokens' pools, whose address proves their code (https://eips.ethereum.org/EIPS/eip-1014). */
function poolsOf(one: string, other: string, isV3: boolean): string[] {
  const [low, high] = one < other ? [one, other] : [other, one];
  const made = ([from, bytecodeHash]: readonly [Hex, Hex], salted: string) =>
    getCreate2Address({ from, bytecodeHash, salt: keccak256(`0x${salted}`) }).toLowerCase();
  if (isV3) return V3_FEES.map((fee) => made(V3_FACTORY, pad(low) + pad(high) + pad(fee)));
  return V2_FACTORIES.map((factory) => made(factory, low.slice(2) + high.slice(2)));
}

/** Read SwapRouter02's `multicall`: one leg that pays the wallet, or several and a sweep. */
function multicallTerms(layout: Layout, args: string): Terms {
  const { legs, deadline, minimum, wallet } = readMulticall(args, layout[6]!);
  const { tokens, fees } = legs.at(-1)!;
  const [last, buyToken] = tokens.slice(-2) as [string, string];
  const tier = (V3_FEES as readonly number[]).indexOf(Number(fees.at(-1) ?? 0));
  const pools = poolsOf(last, buyToken, tier >= 0);
  return {
    minBuyAmount: minimum,
    recipient: wallet,
    sellToken: tokens[0]!,
    buyToken,
    sellAmount: legs.reduce((sum, leg) => sum + leg.amount, 0n),
    ...(paysWallet(legs) && { pool: pools[Math.max(tier, 0)]! }),
    deadline,
  };
}

/** Read AllowanceHolder.exec around Settler.execute((recipient, buyToken, minimum), actions, id). */
function settlerTerms(layout: Layout, words: string): Terms {
  const [sell, amount, minimum, buy, recipient, , nested] = layout;
  const settler = address(words, 3);
  if (address(words, 0) !== settler)
    refuse("another contract than the one called may take the tokens");
  const call = raw(words, 4);
  if (call.slice(0, 8) !== nested)
    refuse("AllowanceHolder calls something else than Settler.execute");
  const inner = call.slice(8);
  uint(follow(inner, 3), 0); // the actions must be inside the call, and their id before them
  uint(inner, 4);
  return {
    minBuyAmount: uint(inner, minimum),
    recipient: address(inner, recipient!),
    sellToken: address(words, sell),
    buyToken: address(inner, buy!),
    sellAmount: uint(words, amount),
    settler,
  };
}
