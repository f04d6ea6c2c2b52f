/** The checks of a quote before signing. They trust neither the service nor its claims. */
import { requireKnown, requireNonce, requirePercent, requireThat, type Members } from "./arguments.js";
import { getAddress } from "./evm.js";
import { decode, measuresRecipient } from "./calldata.js";
import { QuoteDeclined, UnsafeQuote } from "./flow-errors.js";
import { MAX_FEE_WEI, ROUTERS, WETH, WITHOUT_TRANSFER_FEE } from "./generated/rules.js";
import type { Confirm } from "./loss.js";
import { textOf } from "./reading.js";
import { isAddress } from "./node.js";
import { checkParams, faultsOf } from "./params.js";
import type { SwapQuote, TransactionParams, WrapOperation } from "./types.js";
import { UnboundCalldata } from "./words.js";

const BPS = 10_000n;
/** 0x's contract. The contract that it lets move the tokens is read from the chain, not pinned. */
export const ALLOWANCE_HOLDER = "0x0000000000001ff3684f28c67538d4d072c22734";

/**
 * 0x's current and previous Settler in lower case, in the answers of 0x's Deployer. Without a current one
 * there are none: this is how 0x pauses.
 */
export function settlersIn(current: unknown, previous: unknown): string[] {
  const [now = [], before = []] = [current, previous].map((answer) => {
    const word = textOf(answer).toLowerCase();
    return /^0x0{24}(?!0{40})[0-9a-f]{40}$/.test(word) ? [`0x${word.slice(26)}`] : [];
  });
  return now.length ? [...now, ...before] : [];
}

/** The word for ETH as a token. It is quoted and priced as its WETH. */
export const ETH = "ETH";

/** The ERC-20 that is swapped for a token: of ETH it is WETH. */
export const inWeth = (token: string): string => (token === ETH ? WETH : token);

/**
 * What ETH needs in a transaction of its own: a wrap before the swap, or an unwrap after it; undefined with
 * `batch`, whose transaction does it. Throws RangeError for what bounds one transaction of several.
 */
export function conversionOf({ batch, nonce, anyNonce, ...request }: SwapRequest): WrapOperation | undefined {
  const operation = batch ? undefined : etherOf(request);
  if (operation && (nonce !== undefined || anyNonce))
    throw new RangeError("a swap with ETH is several transactions: give no nonce");
  return operation;
}

const etherOf = ({ sellToken, buyToken }: SwapRequest): WrapOperation | undefined =>
  sellToken === ETH ? "wrap" : buyToken === ETH ? "unwrap" : undefined;

/**
 * What to swap. Amounts in smallest units, fees in wei. A token is an address, or "ETH": its WETH is quoted
 * and planned, and `swap` wraps it before the swap, or unwraps exactly what arrived.
 */
export interface SwapRequest {
  readonly sellToken: string;
  readonly buyToken: string;
  /**
   * Without it the least amount is sold whose minimum is `atLeast`: then `atLeast` and `maxSell` are
   * required, and an exact approval is of `maxSell`, as the quote that follows it may need a little more.
   */
  readonly sellAmount?: bigint | undefined;
  /** The most that may be sold where `sellAmount` is left out: no quote bounds that amount. */
  readonly maxSell?: bigint | undefined;
  /** The signing wallet; not needed with an account as signer. */
  readonly wallet?: string | undefined;
  /** Slippage in basis points (50). */
  readonly slippageBps?: number | undefined;
  /** What to approve when the allowance is too low: the sell amount ("exact"), "max" or "never". */
  readonly approval?: "exact" | "max" | "never" | undefined;
  /** The lowest minimum output to sign for. */
  readonly atLeast?: bigint | undefined;
  /** Called with the quote before signing; false declines it. */
  readonly accept?: ((quote: SwapQuote) => boolean | Promise<boolean>) | undefined;
  /** Declines a quote that is further below Chainlink's prices at the caller's own node, in percent. */
  readonly maxImpactPercent?: number | undefined;
  /** The only nonce to sign with. */
  readonly nonce?: number | undefined;
  /** Accept the service's nonce, although the caller's own node names another one. */
  readonly anyNonce?: boolean | undefined;
  /** Allow an approval to use the nonce of an open order. */
  readonly replace?: boolean | undefined;
  /** The highest gas cost to sign for (0.05 ETH); null sets no limit. */
  readonly maxFeeWei?: bigint | null | undefined;
  /**
   * The loss to accept, in percent: the worst of price impact, distance below Chainlink's prices at the
   * own node, slippage, and gas above a tenth of the value. By default 3 % or more is declined, and an
   * unknown price without `atLeast`. A `maxImpactPercent` of 3 or more accepts it, too.
   */
  readonly maxLossPercent?: number | undefined;
  /** Asked after `accept` about a loss that would be declined; false declines it. */
  readonly confirm?: Confirm<SwapQuote> | undefined;
  /** Begin another swap with ETH while an earlier one of the same pair is unfinished. */
  readonly newTrade?: boolean | undefined;
  /**
   * A needed approval is part of the swap's transaction, of a delegated wallet (EIP-7702) and by your own node;
   * else the quote is declined. With "ETH" so is the wrap of what is sold, or the unwrap of the minimum: what
   * arrives above it stays WETH.
   */
  readonly batch?: boolean | undefined;
  /** Which of both, for a request in WETH; "ETH" sets it in the request of a plan. */
  readonly batchConversion?: WrapOperation | undefined;
}

/** A request with its defaults. */
export interface SwapTerms extends SwapRequest {
  readonly wallet: string;
  readonly slippageBps: number;
  readonly approval: "exact" | "max" | "never";
  readonly maxFeeWei: bigint | null;
}

const MEMBERS: Members<SwapRequest> = {
  sellToken: true,
  buyToken: true,
  sellAmount: true,
  maxSell: true,
  wallet: true,
  slippageBps: true,
  approval: true,
  atLeast: true,
  accept: true,
  maxImpactPercent: true,
  nonce: true,
  anyNonce: true,
  replace: true,
  maxFeeWei: true,
  maxLossPercent: true,
  confirm: true,
  newTrade: true,
  batch: true,
  batchConversion: true,
};

/** Return the request with its defaults. Throws RangeError with the name of a wrong member. */
export function checkedRequest(request: SwapRequest, wallet: string): SwapTerms {
  requireKnown(request, MEMBERS);
  const { maxFeeWei = MAX_FEE_WEI, approval = "exact" } = request;
  const [sellToken, buyToken] = [inWeth(request.sellToken), inWeth(request.buyToken)];
  const { maxImpactPercent, maxLossPercent, slippageBps = 50 } = request;
  for (const [name, address] of Object.entries({ sellToken, buyToken, wallet }))
    requireThat(isAddress(address), name, "an address", address);
  if ([request.sellToken, request.buyToken].includes(ETH) && getAddress(sellToken) === getAddress(buyToken))
    throw new RangeError("ETH into WETH is a wrap, and WETH into ETH an unwrap: no swap");
  requireAmounts(request, maxFeeWei);
  requireThat(["exact", "max", "never"].includes(approval), "approval", "exact, max or never", approval);
  requireNonce(request.nonce);
  requirePercent("maxImpactPercent", maxImpactPercent);
  requirePercent("maxLossPercent", maxLossPercent);
  const isWhole = Number.isInteger(slippageBps) && slippageBps >= 1 && slippageBps < 10_000;
  requireThat(isWhole, "slippageBps", "a whole number from 1 to 9999", slippageBps);
  const batchConversion = batchConversionOf(request, approval);
  return { ...request, sellToken, buyToken, wallet, slippageBps, approval, maxFeeWei, batchConversion };
}

/** What the batch of a request does with ETH. Throws RangeError. */
function batchConversionOf(request: SwapRequest, approval: string): WrapOperation | undefined {
  const { batch, batchConversion, sellToken, buyToken } = request;
  requireThat(!batch || approval === "exact", "approval", "exact with batch", approval);
  if (!batchConversion) return batch ? etherOf(request) : undefined;
  const converted: unknown = { wrap: sellToken, unwrap: buyToken }[batchConversion];
  const isWeth = batch && textOf(converted).toLowerCase() === WETH.toLowerCase();
  requireThat(isWeth === true, "batchConversion", "a wrap of sold WETH or an unwrap of bought WETH, with batch", batchConversion);
  return batchConversion;
}

/** Refuse anything but an amount to sell, or a minimum with the most to sell for it. Throws RangeError. */
function requireAmounts({ sellAmount, atLeast, maxSell }: SwapRequest, maxFeeWei: bigint | null): void {
  const isExact = sellAmount !== undefined;
  const amounts = isExact ? { sellAmount, atLeast: atLeast ?? 1n } : { atLeast, maxSell };
  const without = isExact ? "" : " where sellAmount is left out";
  for (const [name, value] of Object.entries({ ...amounts, maxFeeWei: maxFeeWei ?? 1n }))
    requireThat(typeof value === "bigint" && value > 0n, name, `a bigint above 0${without}`, value);
  requireThat(!isExact || maxSell === undefined, "maxSell", "left out beside sellAmount", maxSell);
}

/** How much an exact approval is of: what is sold, or the most that may be. */
export const approvalAmount = ({ sellAmount, maxSell }: SwapTerms): bigint => sellAmount ?? maxSell ?? 0n;

/** Refuse gas that may cost more than `most`, both in wei; null sets no limit. Throws QuoteDeclined. */
export function requireCost(cost: bigint, most: bigint | null, subject = "its gas", option = "maxFeeWei"): void {
  if (most !== null && cost > most)
    throw new QuoteDeclined(`${subject} may cost ${cost} wei, more than ${most}`, `: not signed; ${option} allows more`);
}

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/**
 * Refuse a quote that does not match the request. The router must be known, and proven to enforce
 * both tokens, the amount, the wallet as the receiver, and a minimum within the slippage. `settlers`
 * are 0x's genuine Settlers, in lower case. Throws UnsafeQuote, and QuoteDeclined if only the gas
 * cost or the amount sold is above the limit.
 */
export function checkQuote(quote: SwapQuote, request: SwapTerms, settlers: readonly string[] = []): void {
  const params: TransactionParams = quote.mevProtection.transactionParams;
  const route = quote.dexRoute;
  const found = faultsOf({
    "another sell token": !same(quote.sellToken, request.sellToken),
    "another buy token": !same(quote.buyToken, request.buyToken),
    "another amount": request.sellAmount !== undefined && BigInt(quote.sellAmount) !== request.sellAmount,
    "a lower minimum than was asked for":
      request.sellAmount === undefined && BigInt(quote.minBuyAmount) < (request.atLeast ?? 0n),
    "a target that is not the router": !same(params.to, route.target),
    "other calldata than the route's": !same(params.data, route.data),
    "ETH to be sent along": BigInt(params.value) !== 0n,
    "no nonce": params.nonce === null,
  }).concat(checkParams(params));
  if (found.length) throw new UnsafeQuote(`the quote has ${found.join(", ")}`);
  requireCost(BigInt(params.gasLimit) * BigInt(params.maxFeePerGas), request.maxFeeWei);
  if (request.maxSell !== undefined && BigInt(quote.sellAmount) > request.maxSell)
    throw new QuoteDeclined(
      `it sells ${quote.sellAmount} smallest units, more than ${request.maxSell}`,
      ": not signed; maxSell allows more",
    );
  if (!isAddress(route.target))
    throw new UnsafeQuote("the quote cannot be read: an address is 0x followed by 40 hexadecimal digits");
  if (!/^0x([0-9a-fA-F]{2})*$/.test(route.data))
    throw new UnsafeQuote("the quote cannot be read: its calldata is not 0x-prefixed hex");
  requireSafe(quote, request, settlers);
}

/** Refuse a quote that breaks a fund-safety rule. Throws UnsafeQuote. */
function requireSafe(quote: SwapQuote, request: SwapTerms, settlers: readonly string[]): void {
  const unsafe = (rule: string, advice?: string) => new UnsafeQuote(`the quote is not safe: ${rule}`, advice);
  const target = quote.dexRoute.target.toLowerCase();
  if (!(target in ROUTERS)) throw unsafe(`${getAddress(target)} is not a router known here`);
  const offer = brokenOffer(quote, request);
  if (offer) throw unsafe(offer);
  const terms = brokenTerms(quote, request, settlers);
  if (terms && target === ALLOWANCE_HOLDER && !settlers.length)
    throw unsafe(terms, "; 0x is only taken with a node of your own that names its contracts (rpcUrl)");
  if (terms) throw unsafe(terms);
  if (quote.verification?.bound === false) throw unsafe("the service says that it is not bound by its router");
}

/** Return the rule that the offer breaks apart from its calldata. */
function brokenOffer(quote: SwapQuote, request: SwapTerms): string | undefined {
  const promised = BigInt(quote.buyAmount);
  const minimum = BigInt(quote.minBuyAmount);
  // sources compute a minimum before a fee of about 15 bps; `buyAmount` is net of it
  const granted = BigInt(request.slippageBps) + 1n + BigInt(request.slippageBps) / 500n;
  if (promised <= 0n || minimum <= 0n) return "its output or its minimum is 0";
  if (minimum > promised) return "its minimum is above its promise";
  if (minimum < (promised * (BPS - granted)) / BPS) return "its minimum gives more slippage than was asked";
  return undefined;
}

function brokenTerms(quote: SwapQuote, request: SwapTerms, settlers: readonly string[]): string | undefined {
  const { target, data } = quote.dexRoute;
  let terms;
  try {
    terms = decode(target, data, quote.buyToken);
  } catch (error) {
    if (!(error instanceof UnboundCalldata)) throw error;
    return `${error.isMalformed ? "its calldata is malformed" : "not bound by its router"}: ${error.message}`;
  }
  const { minBuyAmount, recipient, settler } = terms;
  if (minBuyAmount < BigInt(quote.minBuyAmount))
    return `its calldata enforces only ${minBuyAmount} of ${quote.minBuyAmount}`;
  if (recipient !== undefined && !same(recipient, request.wallet))
    return `its calldata pays ${getAddress(recipient)}, not the wallet`;
  if (!same(terms.sellToken, request.sellToken)) return "its calldata sells another token";
  if (!same(terms.buyToken, request.buyToken)) return "its calldata buys another token";
  if (terms.sellAmount !== BigInt(quote.sellAmount)) return "its calldata sells another amount";
  if (settler === undefined || settlers.includes(settler)) return undefined;
  const why = settlers.length ? "0x's Deployer names others" : "0x's Deployer names none, or could not be read";
  return `its Settler ${getAddress(settler)} cannot be proven genuine: ${why}`;
}

/** Whether only a simulation can see a fee that the buy token takes on its last transfer. */
export const measuresItself = (quote: SwapQuote) => !measuresRecipient(quote.dexRoute.target, quote.dexRoute.data);

/** Refuse a swap without simulation if a fee on transfer could lower the amount received. */
export function checkUnsimulated(quote: SwapQuote): void {
  const isFree = WITHOUT_TRANSFER_FEE.some((token) => same(token, quote.buyToken));
  if (measuresItself(quote) && !isFree)
    throw new UnsafeQuote(
      `${quote.source}'s router would not see a fee on transfer of ${quote.buyToken}, and only a trial` +
        " at your own node, one with eth_simulateV1, can rule it out",
      " (rpcUrl)",
    );
}
