/**
 * What a swap or wrap may lose, and what is asked before it is signed: the rule of
 * `domain/quote/loss.py`. The service's own judgement is not used, because a hostile service would
 * call every loss small.
 */
import { QuoteDeclined } from "./flow-errors.js";
import { LOSS_BPS, LOSS_WORDS } from "./generated/rules.js";
import type { SwapTerms } from "./quote-checks.js";
import type { Schemas, SwapQuote, WrapQuote } from "./types.js";

/** `bps` is the greatest known share of the value, in basis points. */
export type Loss = Schemas["LossJudgement"];
/** Decides about a loss that would be declined; false declines it. */
export type Confirm<Q> = (quote: Q, loss: Loss) => boolean | Promise<boolean>;

const BPS = 10_000;
/** Less gas than any wrap or unwrap uses. */
const LEAST_WRAP_GAS = 27_000n;
const LEVELS = ["none", "notice", "confirm", "type"] as const;
const UNKNOWN = { cause: "price_unknown", bps: null } as const;

/** A share in percent in basis points, from 0 to 10,000; rounded to six decimals first, as in the API. */
const toBps = (percent: number) => Math.round(Math.round(Math.min(Math.max(percent, 0), 100) * 1e6) / 1e4);
const shown = (bps: number) => (bps / 100).toFixed(2);

/** What is asked for a loss of this share of the value, as an index of `LEVELS`. */
const levelOf = (bps: number) => [LOSS_BPS.NOTICE, LOSS_BPS.CONFIRM, LOSS_BPS.TYPE].filter((from) => bps >= from).length;

interface Shares {
  readonly impact: number | undefined;
  readonly reference?: number | undefined;
  readonly slippage: number;
  readonly gas: number | undefined;
}

/** The judgement of shares in basis points; undefined where one is unknown. */
function judge({ impact, reference, slippage, gas }: Shares): Loss {
  const figures = [
    { cause: "price_impact", bps: impact ?? 0 },
    { cause: "reference_price", bps: reference ?? 0 },
    { cause: "slippage", bps: slippage },
    { cause: "gas", bps: gas !== undefined && gas > LOSS_BPS.GAS ? gas : 0 },
  ] as const;
  const found = figures.filter(({ bps }) => bps >= LOSS_BPS.NOTICE).sort((one, other) => other.bps - one.bps);
  const bps = Math.max(...figures.map((figure) => figure.bps));
  const isPriced = reference !== undefined || (impact !== undefined && gas !== undefined);
  const level = LEVELS[Math.max(levelOf(bps), isPriced ? 0 : 2)] as Loss["level"];
  return { level, bps, causes: isPriced ? found : [UNKNOWN, ...found] };
}

/**
 * The judgement of a quote, or of an indicative price with slippage 0. `referencePercent` is how far it
 * is below the caller's reference, `gasPercent` the gas against the value as the caller measured it.
 */
export function judgeQuote(
  quote: Pick<SwapQuote, "priceImpact" | "priceImpactAvailable" | "scoring">,
  slippage: number,
  referencePercent?: number,
  gasPercent?: number,
): Loss {
  const { netValueUsd, gasCostUsd, priceAvailable = true } = quote.scoring;
  const value = netValueUsd + gasCostUsd;
  const gas = value > 0 ? (100 * gasCostUsd) / value : 100;
  return judge({
    impact: quote.priceImpactAvailable === false ? undefined : toBps(quote.priceImpact),
    reference: referencePercent === undefined ? undefined : toBps(referencePercent),
    slippage,
    gas: gasPercent !== undefined ? toBps(gasPercent) : priceAvailable ? toBps(gas) : undefined,
  });
}

/**
 * The judgement of a conversion one to one, which loses its gas at `fee` wei per gas. `estimate` is the
 * own node's; the service's figure counts only where it is higher.
 */
export function judgeWrap(quote: WrapQuote, fee: bigint, estimate = 0n): Loss {
  const amount = BigInt(quote.amountWei);
  const units = [BigInt(quote.estimatedGas), estimate, LEAST_WRAP_GAS].reduce((most, each) => (each > most ? each : most));
  const gas = (2n * units * fee * BigInt(BPS) + amount) / (2n * amount);
  return judge({ impact: 0, slippage: 0, gas: Math.min(Number(gas), BPS) });
}

/** The judgement of two transactions: the worst level and share, and all causes. */
export function together(one: Loss, other: Loss): Loss {
  const level = LEVELS[Math.max(LEVELS.indexOf(one.level), LEVELS.indexOf(other.level))] as Loss["level"];
  const added = other.causes.filter(({ cause, bps }) => !one.causes.some((each) => each.cause === cause && each.bps === bps));
  return { level, bps: Math.max(one.bps, other.bps), causes: [...one.causes, ...added] };
}

/** The causes in words; the share alone if none reaches a notice. */
export const lossText = ({ bps: worst, causes }: Loss) =>
  causes.map(({ cause, bps }) => (bps === null ? "" : `${shown(bps)} % `) + LOSS_WORDS[cause]).join(", ") ||
  `${shown(worst)} %`;

/** The loss in basis points that a caller accepts. Without a bound: what needs no confirmation. */
export const acceptedBps = (mostPercent: number | undefined) =>
  mostPercent === undefined ? LOSS_BPS.CONFIRM - 1 : Math.floor(Math.round(mostPercent * 1e6) / 1e4);

/** The loss that a swap's request accepts; a high `maxImpactPercent` counts, too. */
export function mostBps({ maxLossPercent, maxImpactPercent = 0 }: SwapTerms): number {
  const isHigh = maxImpactPercent * 100 >= LOSS_BPS.CONFIRM;
  return acceptedBps(maxLossPercent ?? (isHigh ? maxImpactPercent : undefined));
}

/** Whether the request has a bound that a reference price can break. */
export const needsReference = (request: SwapTerms) =>
  request.maxImpactPercent !== undefined || mostBps(request) < BPS;

/** Whether more may be lost than `most` basis points: an unknown price may lose everything, but for a floor. */
export const exceeds = (loss: Loss, most: number, hasFloor: boolean): boolean =>
  Math.max(loss.bps, isPriced(loss) || hasFloor ? 0 : BPS) > most;

const isPriced = ({ causes }: Loss) => causes.every(({ bps }) => bps !== null);

/** Ask `confirm` if more than `most` basis points may be lost. Throws QuoteDeclined. */
export async function requireConsent<Q>(
  loss: Loss,
  most: number,
  quote: Q,
  confirm?: Confirm<Q> | undefined,
  hasFloor = false,
): Promise<void> {
  if (!exceeds(loss, most, hasFloor)) return;
  if (!confirm)
    throw new QuoteDeclined(
      `it may lose more than the ${shown(most)} % that you accept: ${lossText(loss)}`,
      `: not signed; accept a loss up to maxLossPercent${isPriced(loss) ? "" : "; atLeast replaces the price"}`,
    );
  if (!(await confirm(quote, loss))) throw new QuoteDeclined("the loss was not accepted");
}
