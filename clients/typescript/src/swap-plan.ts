/** A planned swap: its quote, its loss, the approvals before it, and why it may not be signed. */
import type { ClientError } from "./errors.js";
import { FRESH_S } from "./generated/rules.js";
import { exceeds, mostBps, type Loss } from "./loss.js";
import type { SwapTerms } from "./quote-checks.js";
import type { Json } from "./reading.js";
import type { Reference } from "./reference-price.js";
import type { SwapSimulation } from "./simulation.js";
import type { SwapQuote, TransactionParams, WrapOperation } from "./types.js";

/** What is signed; "batch" only by a wallet that does approve and swap in one. */
export type Step = "wrap" | "reset" | "approve" | "swap" | "batch" | "unwrap";

/**
 * What the caller's own node shows of the wallet; amounts in smallest units and in wei. `allowance` is
 * that of the quote's router for the sell token, `nextNonce` without orders that are private,
 * `usedNonces` only what the latest block has.
 */
export interface WalletFacts {
  readonly sellBalance: bigint;
  readonly ether: bigint;
  readonly allowance: bigint;
  readonly nextNonce: number;
  readonly usedNonces: number;
}

/** One approval to sign before the swap; `amount` in smallest units (0 for a reset). */
export interface PlannedApproval {
  readonly token: string;
  readonly router: string;
  readonly amount: bigint;
}

/** The members of a plan. */
export interface SwapPlanMembers {
  readonly request: SwapTerms;
  readonly quote: SwapQuote;
  readonly loss: Loss;
  /** When the quote came, in s of the client's monotonic clock. */
  readonly at: number;
  readonly refusal?: ClientError | undefined;
  readonly approvals?: readonly PlannedApproval[] | undefined;
  readonly approvalGasWei?: bigint | undefined;
  readonly block?: Json | undefined;
  readonly wallet?: WalletFacts | undefined;
  readonly reference?: Reference | undefined;
  readonly trial?: SwapSimulation | undefined;
  readonly conversion?: WrapOperation | undefined;
  readonly conversionGasWei?: bigint | undefined;
  readonly isBatched?: boolean | undefined;
}

/** What is signed for these approvals and this conversion, in order. */
export function stepsOf(
  approvals: readonly { readonly amount: bigint }[],
  conversion: WrapOperation | undefined,
  isBatched = false,
): readonly Step[] {
  return [
    ...(conversion === "wrap" ? ["wrap" as const] : []),
    ...approvals.map(({ amount }) => (amount ? "approve" : "reset")),
    isBatched ? "batch" : "swap",
    ...(conversion === "unwrap" ? ["unwrap" as const] : []),
  ];
}

/**
 * A quote that passed the checks, with all that is decided about it before it is signed. `loss` is the
 * client's own judgement, at most `acceptedBps` of it is accepted by the request. `approvals` are signed
 * first, with `approvalGasWei` at most for their gas. `block`, the own node's latest when it was planned,
 * `wallet`, `reference` and `trial` are undefined without a node; `trial` also before the last check.
 * `refusal` is the error that is thrown instead of a signature. With ETH, `conversion` is a wrap that is
 * signed first, or an unwrap that is signed last, and `conversionGasWei` the most that its gas may cost at
 * the fees of now. Of a batched plan `quote` has the transaction of the batched form, and
 * `request.batchConversion` says which of both it does itself.
 */
export class SwapPlan implements SwapPlanMembers {
  declare readonly request: SwapTerms;
  declare readonly quote: SwapQuote;
  declare readonly loss: Loss;
  declare readonly at: number;
  declare readonly refusal: ClientError | undefined;
  readonly approvals: readonly PlannedApproval[] = [];
  readonly approvalGasWei: bigint = 0n;
  declare readonly block: Json | undefined;
  declare readonly wallet: WalletFacts | undefined;
  declare readonly reference: Reference | undefined;
  declare readonly trial: SwapSimulation | undefined;
  declare readonly conversion: WrapOperation | undefined;
  readonly conversionGasWei: bigint = 0n;
  readonly isBatched: boolean = false;

  constructor(members: SwapPlanMembers) {
    Object.assign(this, members);
  }

  /** The same plan with other members. */
  with(members: Partial<SwapPlanMembers>): SwapPlan {
    return new SwapPlan({ ...this, ...members });
  }

  /** The transaction of the swap. */
  get params(): TransactionParams {
    return this.quote.mevProtection.transactionParams;
  }

  /** What is signed, in order; each step waits for the block of the one before it. */
  get steps(): readonly Step[] {
    return stepsOf(this.approvals, this.conversion, this.isBatched);
  }

  /** Whether it sells ETH: a step of its own or the batch wraps it. */
  get wraps(): boolean {
    return [this.conversion, this.request.batchConversion].includes("wrap");
  }

  /** How many transactions are signed: one for each step. */
  get signatures(): number {
    return this.steps.length;
  }

  /** The most that all of them may cost in gas, in wei. */
  get maxGasCost(): bigint {
    const { gasLimit, maxFeePerGas } = this.params;
    return BigInt(gasLimit) * BigInt(maxFeePerGas) + this.approvalGasWei + this.conversionGasWei;
  }

  /** Until when the quote may be signed, in s of the client's monotonic clock. */
  get freshUntil(): number {
    return this.at + FRESH_S;
  }

  get acceptedBps(): number {
    return mostBps(this.request);
  }

  /** Whether it may lose more than the request accepts, so that `confirm` is asked. */
  get needsConsent(): boolean {
    return exceeds(this.loss, this.acceptedBps, this.request.atLeast !== undefined);
  }

  /** Throw the refusal, if there is one. */
  require(): void {
    if (this.refusal) throw this.refusal;
  }
}
