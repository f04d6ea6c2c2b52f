/** What is asked of a cancel, what it reports, and its result. */
import type { Outcome } from "./flow-errors.js";
import type { Receipt } from "./node.js";
import type { OutcomeWatch } from "./finality.js";
import type { CancelOrder, CancelQuote, OrderStatus } from "./types.js";

/** The order to cancel. */
export interface CancelRequest {
  readonly orderId: string;
  /** The wallet of the order; not needed with an account as signer. */
  readonly wallet?: string | undefined;
  /** The highest gas cost to sign for, in wei (0.02 ETH). */
  readonly mostFeeWei?: bigint | undefined;
  /**
   * The nonce that the order was signed with; a quote with another one is refused. The client knows it
   * if it submitted the order. The service's word is not enough: it could name another transaction.
   */
  readonly nonce?: number | undefined;
  /** The hash of the signed order; if the own node knows it, the nonce is not needed. */
  readonly txHash?: string | undefined;
  /** Called with the quote before signing; false declines it. */
  readonly accept?: ((quote: CancelQuote) => boolean | Promise<boolean>) | undefined;
}

/** What a cancel reports while it runs; exactly one member is present. */
export type CancelEvent =
  | { readonly quote: CancelQuote }
  | { readonly submitted: CancelOrder }
  | { readonly status: OrderStatus }
  | { readonly watching: OutcomeWatch };

/**
 * The result of a cancel. `status` is the last record of the order, `end` that of the cancel;
 * `submission` is undefined when the order had already ended. `fate` is the outcome of the cancel at
 * the caller's own node, `swap` that node's receipt of the order's transaction.
 */
export class CancelResult {
  declare readonly quote: CancelQuote;
  declare readonly submission: CancelOrder | undefined;
  declare readonly end: OrderStatus | undefined;
  declare readonly status: OrderStatus;
  declare readonly fate: Outcome | undefined;
  declare readonly swap: Receipt | undefined;

  constructor(
    quote: CancelQuote,
    submission: CancelOrder | undefined,
    end: OrderStatus | undefined,
    status: OrderStatus,
    fate?: Outcome | undefined,
    swap?: Receipt | undefined,
  ) {
    this.quote = quote;
    this.submission = submission;
    this.end = end;
    this.status = status;
    this.fate = fate;
    this.swap = swap;
  }

  /** Whether the caller's own node showed the outcome; if not, only the service reports it. */
  get checked(): boolean {
    return this.fate !== undefined;
  }

  /** The cancel is in a block and the order's transaction in none. */
  get cancelled(): boolean {
    if (this.fate !== undefined) return !this.swap && (this.fate === "mined" || this.fate === "reverted");
    return this.status.error?.code === "USER_CANCELLED" || this.end?.blockNumber != null;
  }
}
