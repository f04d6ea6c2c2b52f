/**
 * Decodes the terms that a router's own code enforces, and refuses all other calldata. The rows of
 * `METHODS` are proofs, one per router and method.
 */
import { getAddress, keccak256 } from "viem";
import { METHODS, ROUTER_NAMES, V2_FACTORIES, V3_FACTORY, V3_FEES } from "./generated/rules.js";
import type { CalldataLayout, MethodRow } from "./method-row.js";
import type { Hex } from "./types.js";
import { UnboundCalldata, WORD, Words, asAddress } from "./words.js";

/**
 * The terms that a router enforces: addresses in lower case, amounts in smallest units.
 * `minBuyAmount` is the least the wallet gets after every fee. Without `recipient` the sender gets
 * it. `settler` must be one of 0x's genuine Settlers. `isBound` false: no proof exists.
 */
export interface Terms {
  readonly minBuyAmount: bigint;
  readonly recipient: string | undefined;
  readonly sellToken: string;
  readonly buyToken: string;
  readonly sellAmount: bigint;
  readonly isBound: boolean;
  readonly settler?: string;
  readonly pool?: string;
}

const NOBODY = asAddress(0n);
const ETHER = [NOBODY, `0x${"e".repeat(40)}`];
const ADDRESS_MASK = 2n ** 160n - 1n;
const MOST_FEE_BPS = 200n;
const UNKNOWN_PARTNER_BITS = (1n << 90n) - (1n << 14n);
const TOP_BIT = 1n << 255n;
const DEX_ZERO_FOR_ONE = 1n << 247n;
const DEX_KNOWN = ADDRESS_MASK | (0xffffffffn << 160n) | DEX_ZERO_FOR_ONE | (1n << 251n) | (7n << 253n);

const rowOf = (router: string, data: string): MethodRow | undefined =>
  METHODS[`${router.toLowerCase()} ${data.slice(2, 10).toLowerCase()}`];

/** Whether the router compares the wallet's balance with the minimum, and so sees a transfer fee. */
export const measuresRecipient = (router: string, data: string) => rowOf(router, data)?.measuresRecipient === true;

/**
 * Return the terms that `router` enforces for `data` (0x-prefixed hex). Throws UnboundCalldata with
 * the broken rule. With `acceptUnbound`, readable terms without a proof are decoded, too.
 */
export function decode(router: string, data: string, buyToken: string, acceptUnbound = false): Terms {
  const row = rowFor(router, data);
  const { layout } = row;
  if (!layout || (row.unproven && !acceptUnbound)) throw new UnboundCalldata(`${row.name}: ${row.refuses}`);
  const words = new Words(data.slice(10).toLowerCase());
  const terms = row.nested
    ? settlerTerms(layout, row.nested, words)
    : plainTerms(row, layout, words, buyToken.toLowerCase());
  if (ETHER.includes(terms.sellToken) || ETHER.includes(terms.buyToken))
    throw new UnboundCalldata("it trades native ETH");
  if (terms.sellToken === terms.buyToken) throw new UnboundCalldata("it sells and buys the same token");
  if (terms.sellAmount === 0n)
    throw new UnboundCalldata("it sells an amount of 0, which may mean another one");
  if (terms.minBuyAmount <= 0n) throw new UnboundCalldata("its minimum is 0: nothing is enforced");
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

function rowFor(router: string, data: string): MethodRow {
  const name = (ROUTER_NAMES as Record<string, string>)[router.toLowerCase()];
  if (name === undefined)
    throw new UnboundCalldata(`nothing is known of what the router ${getAddress(router)} enforces`);
  const row = rowOf(router, data);
  if (row) return row;
  const method = data.length >= 10 ? data.slice(0, 10).toLowerCase() : "without a selector";
  throw new UnboundCalldata(`the method ${method} of ${name} is not a known one`);
}

function plainTerms(row: MethodRow, layout: CalldataLayout, args: Words, buyToken: string): Terms {
  let words = args;
  for (const index of layout.within ?? []) words = words.follow(index);
  checkFlags(layout, words);
  if (layout.permit !== undefined && (layout.permitWithin ? words : args).raw(layout.permit))
    throw new UnboundCalldata("it carries a permit");
  if (layout.wrap !== undefined && (args.uint(layout.wrap) >> 161n) & 3n)
    throw new UnboundCalldata("its wrap flag is set");
  const sellToken = words.address(layout.sell);
  const dex = layout.dex === undefined ? undefined : words.uint(layout.dex);
  const bought = dex === undefined ? words.address(layout.buy!) : derived(sellToken, buyToken, dex);
  checkPools(layout, words, sellToken, bought);
  const minBuyAmount = least(layout, words, args);
  const named = layout.recipient === undefined ? undefined : words.address(layout.recipient);
  return {
    minBuyAmount,
    recipient: named === NOBODY && layout.zeroIsSender !== false ? undefined : named,
    sellToken,
    buyToken: bought,
    sellAmount: words.uint(layout.amount),
    isBound: !row.unproven,
    ...(dex !== undefined && { pool: asAddress(dex & ADDRESS_MASK) }),
  };
}

function checkFlags(layout: CalldataLayout, words: Words): void {
  if (layout.flags === undefined) return;
  const refused = words.uint(layout.flags) & ~BigInt(layout.allowedFlags ?? 0);
  if (refused & 1n) throw new UnboundCalldata("it may sell only a part: flag 0x1");
  if (refused) throw new UnboundCalldata(`its flag 0x${(refused & -refused).toString(16)} is not allowed`);
}

/** The minimum less everything that may be taken from it: fee, surplus and dust of Augustus. */
function least(layout: CalldataLayout, words: Words, args: Words): bigint {
  const minimum = words.uint(layout.minimum);
  const dust = BigInt(layout.dust ?? 0);
  if (layout.quoted !== undefined && words.uint(layout.quoted) < minimum)
    throw new UnboundCalldata("its quotedAmount lies below its minimum: all above it may be taken");
  if (layout.partner === undefined) return minimum - dust;
  const partner = args.uint(layout.partner);
  if (partner & UNKNOWN_PARTNER_BITS) throw new UnboundCalldata("its partnerAndFee has unknown bits");
  const fee = partner & 0x3fffn;
  return minimum - (minimum * (fee < MOST_FEE_BPS ? fee : MOST_FEE_BPS)) / 10_000n - dust;
}

/** Check Augustus' `pools`. The UniswapV3 form pulls the token of the first group. */
function checkPools(layout: CalldataLayout, words: Words, sell: string, buy: string): void {
  if (layout.pools === undefined) return;
  const pools = words.raw(layout.pools);
  const size = layout.poolSize ?? 0;
  if (!pools || pools.length % (2 * size))
    throw new UnboundCalldata(`its pools are no whole groups of ${size} bytes`, true);
  if (size !== 96) return;
  const groups = new Words(pools);
  let token = sell;
  for (let first = 0; first < pools.length / WORD; first += 3) {
    const head = groups.uint(first);
    if (head & (TOP_BIT - 1n) & ~ADDRESS_MASK)
      throw new UnboundCalldata("a pool's first word holds more than direction and token", true);
    const low = asAddress(head & ADDRESS_MASK);
    const high = groups.address(first + 1);
    if (low >= high) throw new UnboundCalldata("a pool's tokens are not in order", true);
    const [sold, bought] = head & TOP_BIT ? [low, high] : [high, low];
    if (sold !== token)
      throw new UnboundCalldata(`its pools sell ${checksum(sold)}, not ${checksum(token)}`);
    token = bought;
  }
  if (token !== buy) throw new UnboundCalldata(`its pools buy ${checksum(token)}, not ${checksum(buy)}`);
}

/** Return the bought token, proven by the pool that `dex` names. */
function derived(sell: string, buy: string, dex: bigint): string {
  if (dex & ~DEX_KNOWN)
    throw new UnboundCalldata("its pool's word unwraps, uses Permit2 or has unknown bits");
  const protocol = dex >> 253n;
  if (protocol > 1n) throw new UnboundCalldata("its pool is neither of Uniswap V2's nor of Uniswap V3's kind");
  const pool = asAddress(dex & ADDRESS_MASK);
  if (!pools(sell, buy, protocol === 1n).includes(pool))
    throw new UnboundCalldata(`its pool ${checksum(pool)} is not derived from a known factory`);
  if (((dex & DEX_ZERO_FOR_ONE) !== 0n) !== sell < buy)
    throw new UnboundCalldata("its pool is asked to sell the token bought");
  return buy;
}

/** The two tokens' pools, whose address proves their code (https://eips.ethereum.org/EIPS/eip-1014). */
function pools(one: string, other: string, isV3: boolean): string[] {
  const [low, high] = (one < other ? [one, other] : [other, one]).map((each) => each.slice(2)) as [string, string];
  const made = ([factory, codeHash]: readonly [string, string], salted: string) =>
    `0x${keccak256(`0xff${factory.slice(2)}${keccak256(salted as Hex).slice(2)}${codeHash.slice(2)}`).slice(26)}`;
  if (!isV3) return V2_FACTORIES.map((factory) => made(factory, `0x${low}${high}`));
  return V3_FEES.map((fee) =>
    made(V3_FACTORY, `0x${low.padStart(64, "0")}${high.padStart(64, "0")}${fee.toString(16).padStart(64, "0")}`),
  );
}

/** Read AllowanceHolder.exec around Settler.execute((recipient, buyToken, minimum), actions, id). */
function settlerTerms(layout: CalldataLayout, nested: string, words: Words): Terms {
  const settler = words.address(3);
  if (words.address(0) !== settler)
    throw new UnboundCalldata("another contract than the one called may take the tokens");
  const call = words.raw(4);
  if (call.slice(0, 8) !== nested)
    throw new UnboundCalldata("AllowanceHolder calls something else than Settler.execute");
  const inner = new Words(call.slice(8));
  inner.follow(3).uint(0); // the actions must be inside the call, and their id before them
  inner.uint(4);
  return {
    minBuyAmount: inner.uint(layout.minimum),
    recipient: inner.address(layout.recipient!),
    sellToken: words.address(layout.sell),
    buyToken: inner.address(layout.buy!),
    sellAmount: words.uint(layout.amount),
    isBound: true,
    settler,
  };
}

const checksum = (address: string) => getAddress(address);
