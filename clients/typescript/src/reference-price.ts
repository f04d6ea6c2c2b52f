/** Chainlink's prices from the caller's own node: no other check detects a bad price. */
import { QuoteDeclined } from "./flow-errors.js";
import { PRICE_FEEDS, WETH } from "./generated/rules.js";
import { judgeQuote, type Loss } from "./loss.js";
import { answered, baseFee, latestBlock, view, viewCall } from "./node.js";
import type { SwapTerms } from "./quote-checks.js";
import { quantity, textOf, word } from "./reading.js";
import type { RpcCall } from "./rpc-batch.js";
import type { Transport } from "./transport.js";
import type { SwapQuote } from "./types.js";

const BPS = 10_000n;
const SLACK_S = 300n;
const MOST_DECIMALS = 77n;
/** Percentages are integers of this many parts. */
const PERCENT = 10n ** 12n;

/** Prices in 10^-8 USD per whole token, and the value of the sell amount in the buy token. */
export interface Reference {
  readonly sellUsd: bigint;
  readonly sellDecimals: bigint;
  readonly fair: bigint;
}

const percent = (value: number) => BigInt(Math.round(value * 1e6)) * 10n ** 6n;
const inPercent = (value: bigint) => Number(value) / Number(PERCENT);
const shown = (value: bigint) => (Number(value / 10n ** 8n) / 1e4).toFixed(2);

/** Return the reference of a swap; undefined if a token has no feed, or a price is stale. */
export async function findReference(
  io: Transport,
  { sellToken: sell, buyToken: buy }: SwapTerms,
  amount: bigint,
): Promise<Reference | undefined> {
  const prices: bigint[] = [];
  for (const token of [sell, buy]) {
    const price = await priceOf(io, token);
    if (price === undefined) return undefined;
    prices.push(price);
  }
  const [sellUsd, buyUsd] = prices as [bigint, bigint];
  const [sellDecimals, buyDecimals] = [await decimalsOf(io, sell), await decimalsOf(io, buy)];
  if (sellDecimals === undefined || buyDecimals === undefined) return undefined;
  if (sellDecimals > MOST_DECIMALS || buyDecimals > MOST_DECIMALS) return undefined;
  const fair = (amount * sellUsd * 10n ** buyDecimals) / (buyUsd * 10n ** sellDecimals);
  return fair > 0n ? { sellUsd, sellDecimals, fair } : undefined;
}

const ROUND = "0xfeaf968c";
const DECIMALS = "0x313ce567";
const feedOf = (token: string) =>
  (PRICE_FEEDS as Record<string, readonly [string, number]>)[token.toLowerCase()];

/** The calls of the feeds of those tokens that have one. */
export const feedReads = (...tokens: readonly string[]): RpcCall[] =>
  tokens.flatMap((token) => {
    const feed = feedOf(token);
    return feed ? [viewCall(feed[0], ROUND)] : [];
  });

/** What `findReference`, and the price of the gas, read beside the latest block. */
export const referenceReads = ({ sellToken, buyToken }: SwapTerms): RpcCall[] => [
  ...feedReads(sellToken, buyToken, WETH),
  ...[sellToken, buyToken].map((token) => viewCall(token, DECIMALS)),
];

/** The decimals of a token; undefined if no contract answers. */
async function decimalsOf(io: Transport, token: string): Promise<bigint | undefined> {
  const found = await view(io, token, DECIMALS);
  return found === "0x" ? undefined : word(found);
}

/** Return a token's price in 10^-8 USD; undefined without a feed, or if it is stale, invalid or reverts. */
async function priceOf(io: Transport, token: string): Promise<bigint | undefined> {
  const found = feedOf(token);
  if (!found) return undefined;
  const [feed, heartbeatS] = found;
  const blockTime = quantity((await latestBlock(io))["timestamp"]);
  const answer = textOf(await answered(view(io, feed, ROUND)));
  if (!/^0x[0-9a-fA-F]{320,}$/.test(answer)) return undefined;
  const at = (index: number) => BigInt(`0x${answer.slice(2 + 64 * index, 66 + 64 * index)}`);
  const clock = BigInt(Math.floor(Date.now() / 1000));
  const age = (blockTime > clock ? blockTime : clock) - at(3);
  const isFresh = age >= -SLACK_S && age <= BigInt(heartbeatS) + SLACK_S;
  const price = BigInt.asIntN(256, at(1));
  return price > 0n && isFresh ? price : undefined;
}

/** How far the enforced minimum, before slippage, is below the reference; negative if above. */
function below(quote: SwapQuote, slippageBps: number, { fair }: Reference): bigint {
  const whole = fair * (BPS - BigInt(slippageBps));
  return (100n * PERCENT * (whole - BigInt(quote.minBuyAmount) * BPS)) / whole;
}

/** The same in percent; undefined without a reference. */
export const belowPercent = (quote: SwapQuote, slippageBps: number, found: Reference | undefined) =>
  found && inPercent(below(quote, slippageBps, found));

/**
 * Decline a quote that is further below the reference than `maxImpactPercent`. Without a reference, a
 * quote is declined unless `atLeast` is set. Throws QuoteDeclined.
 */
export function requireFair(quote: SwapQuote, request: SwapTerms, found: Reference | undefined): void {
  const { maxImpactPercent: most } = request;
  if (!found && most !== undefined && request.atLeast === undefined)
    throw new QuoteDeclined(
      "there is no fresh Chainlink price of both tokens at a node of yours to compare the quote with",
      ": give atLeast, the smallest amount you would take",
    );
  if (!found || most === undefined) return;
  const gap = below(quote, request.slippageBps, found);
  if (gap > percent(most))
    throw new QuoteDeclined(
      `the quote is ${shown(gap)} % below Chainlink's prices at your node, more than ${most} %`,
      ": sell less at once, or allow more with maxImpactPercent",
    );
}

/**
 * Return the loss with so much gas, at the current base fee of the own node; undefined if Chainlink's ETH
 * price is missing. Throws QuoteDeclined.
 */
export async function lossWithGas(
  io: Transport,
  quote: SwapQuote,
  request: SwapTerms,
  found: Reference,
  gasUsed: bigint,
): Promise<Loss | undefined> {
  const { maxImpactPercent: most, slippageBps } = request;
  const ether = await priceOf(io, WETH);
  if (ether === undefined) return undefined;
  const cost = gasUsed * (await baseFee(io));
  const sold = BigInt(quote.sellAmount) * found.sellUsd * 10n ** 18n;
  const gas = (100n * PERCENT * cost * ether * 10n ** found.sellDecimals) / sold;
  const distance = below(quote, slippageBps, found);
  if (most !== undefined && distance + gas > percent(most))
    throw new QuoteDeclined(
      `with its gas, ${shown(gas)} % of the amount, it is ${shown(distance + gas)} % below Chainlink's prices at` +
        ` your node, more than ${most} %`,
      ": swap more at once, wait for a lower base fee, or allow more with maxImpactPercent",
    );
  return judgeQuote(quote, slippageBps, inPercent(distance), inPercent(gas));
}
