/** Errors of the flows: before signing, after submission, and while an order is followed. */
import { ClientError } from "./errors.js";
import type { Receipt } from "./node.js";

/** What became of a signed transaction, at the caller's own node. */
export type Outcome = "mined" | "reverted" | "replaced" | "open";

/** The transaction to sign differs from the request, or is not safe; nothing was signed. */
export class UnsafeQuote extends ClientError {
  override readonly name: string = "UnsafeQuote";
  /** The broken rule, without advice. The Python client gives the same text. */
  declare readonly reason: string;

  constructor(reason: string, advice = "") {
    super(`${reason}${advice}: not signed`, { reason });
  }
}

/** The quote's nonce is not the requested one or, if none was requested, the wallet's next. */
export class NonceMismatch extends UnsafeQuote {
  override readonly name = "NonceMismatch";
}

/** The signer returned another transaction than the one to sign; nothing was submitted. */
export class SignerMismatch extends ClientError {
  override readonly name = "SignerMismatch";
}

/** The quote did not meet the caller's condition; nothing was signed. */
export class QuoteDeclined extends ClientError {
  override readonly name: string = "QuoteDeclined";
  /** Why, without advice. */
  declare readonly reason: string;

  constructor(reason: string, advice = "") {
    super(reason + advice, { reason });
  }
}

/** An earlier swap of the same pair with ETH was not followed to its end; `trade` is its first transaction. */
export class UnfinishedTrade extends QuoteDeclined {
  override readonly name = "UnfinishedTrade";
  declare readonly trade: string;

  constructor(trade: string) {
    super(
      `a swap of this pair, of transaction ${trade}, was not followed to its end`,
      ": go on with it by resume, or begin another one with newTrade; nothing was signed",
    );
    this.trade = trade;
  }
}

/** A transaction was mined and reverted. */
export class TransactionFailed extends ClientError {
  override readonly name = "TransactionFailed";
  declare readonly txHash: string;

  constructor(what: string, txHash: string) {
    super(`${what} was mined but reverted: ${txHash}`, { txHash });
  }
}

/** Another transaction used the nonce, so this one can never be mined. */
export class TransactionReplaced extends ClientError {
  override readonly name = "TransactionReplaced";
  declare readonly txHash: string;

  constructor(txHash: string) {
    super(`another transaction of the wallet took the place of ${txHash}`, { txHash });
  }
}

/** A signed transaction that was submitted; `what` names it in messages. */
export interface Submitted {
  readonly what: string;
  readonly txHash: string;
  readonly wallet: string;
  readonly nonce: number;
  readonly orderId?: string | undefined;
  /** Of a swap: the token that it sells, and how many smallest units, as a decimal string. */
  readonly sellToken?: string | undefined;
  readonly sellAmount?: string | undefined;
  /**
   * Of a swap with ETH: the hash of its first transaction. That one has the terms of all: it sells
   * `sellAmount` of `sellToken` for `atLeast` smallest units of `buyToken`, of which one is "ETH".
   */
  readonly trade?: string | undefined;
  readonly buyToken?: string | undefined;
  readonly atLeast?: string | undefined;
  /** A run has told the end of its trade. */
  readonly told?: boolean | undefined;
}

/** The members of an error that tell which transaction was submitted. */
const membersOf = ({ txHash, nonce, orderId }: Submitted) => ({ txHash, nonce, orderId });

/**
 * The service names `namedHash`, but the signed transaction is `txHash`. It may have been sent, and
 * may still be mined. `fate` is its outcome at the caller's own node; undefined without a node.
 */
export class TransactionHashMismatch extends ClientError {
  override readonly name = "TransactionHashMismatch";
  declare readonly txHash: string;
  declare readonly namedHash: string;
  declare readonly nonce: number | undefined;
  declare readonly orderId: string | undefined;
  declare readonly fate: Outcome | undefined;

  constructor(txHash: string, namedHash: string, sent?: Submitted, fate?: Outcome) {
    const shown = {
      mined: "was mined and succeeded: do not repeat it",
      reverted: "was mined and reverted",
      replaced: `can no longer be mined: another transaction used nonce ${sent?.nonce}`,
    };
    const known =
      !fate || fate === "open"
        ? `it may still be mined as long as nonce ${sent?.nonce} is unused`
        : `your own node says that it ${shown[fate]}`;
    super(
      `the service speaks of transaction ${namedHash}, not of ${txHash}, which was signed: look the` +
        ` signed one up at your own node or an explorer${sent ? `; ${known}` : ""}`,
      { ...(sent && membersOf(sent)), txHash, namedHash, fate },
    );
  }
}

/**
 * The service reports `status`, but the caller's own node has a receipt that contradicts it. With
 * `confirmed` the transaction reverted; otherwise it succeeded, and a second swap would spend twice.
 */
export class StatusContradiction extends ClientError {
  override readonly name = "StatusContradiction";
  declare readonly orderId: string;
  declare readonly status: string;
  declare readonly txHash: string;

  constructor(orderId: string, status: string, txHash: string) {
    const [shown, so] =
      status === "confirmed"
        ? ["reverted", "nothing was swapped"]
        : ["succeeded", "the swap took place, do not swap again"];
    super(
      `the service says that order ${orderId} is ${status}, but your own node says that its` +
        ` transaction ${txHash} was mined and ${shown}: the chain is right, ${so}`,
      { orderId, status, txHash },
    );
  }
}

/** The wait ended before a final status; `reference` is an order id or a transaction hash. */
export class OrderStillOpen extends ClientError {
  override readonly name = "OrderStillOpen";
  declare readonly reference: string;
  declare readonly status: string;
  declare readonly txHash: string | undefined;
  declare readonly nonce: number | undefined;
  declare readonly orderId: string | undefined;

  constructor(reference: string, status: string, waitedS: number, sent?: Submitted) {
    super(`${reference} is still ${status} after ${waitedS.toFixed(0)} s`, { reference, status });
    if (sent) this.of(sent);
  }

  /** The same error with the submitted transaction. */
  of(sent: Submitted): this {
    return Object.assign(this, membersOf(sent));
  }
}

/**
 * An error after the signed bytes were submitted. `cause` is the error that ended the flow. A
 * service that refuses a transaction may have sent it.
 */
export abstract class AfterSubmission extends ClientError {
  override readonly name: string = "AfterSubmission";
  declare readonly txHash: string;
  declare readonly nonce: number;
  declare readonly orderId: string | undefined;

  constructor(why: string, told: string, sent: Submitted, cause?: unknown) {
    super(`${why}: ${told}`, { ...membersOf(sent), ...(cause !== undefined && { cause }) });
  }
}

const named = (sent: Submitted) =>
  `transaction ${sent.txHash}${sent.orderId ? ` of order ${sent.orderId}` : ""}`;

/** The signed transaction may still be mined while its nonce is unused. */
export class MayBeMined extends AfterSubmission {
  override readonly name = "MayBeMined";

  constructor(why: string, sent: Submitted, cause?: unknown) {
    const told =
      `the signed ${named(sent)} was submitted and may still be mined as long as nonce` +
      ` ${sent.nonce} is unused; only another transaction with nonce ${sent.nonce} rules it out`;
    super(why, told, sent, cause);
  }
}

/** The caller's own node shows that the transaction succeeded: do not repeat it. */
export class MinedAnyway extends AfterSubmission {
  override readonly name = "MinedAnyway";
  declare readonly receipt: Receipt | undefined;

  constructor(why: string, sent: Submitted, cause?: unknown, receipt?: Receipt) {
    super(why, `but your own node says that ${named(sent)} was mined and succeeded: do not repeat it`, sent, cause);
    this.receipt = receipt;
  }
}

/** The caller's own node shows that it reverted, or that another transaction used its nonce. */
export class NeverMined extends AfterSubmission {
  override readonly name = "NeverMined";

  constructor(why: string, sent: Submitted, cause?: unknown) {
    const told =
      `your own node says that ${named(sent)} came to nothing (it reverted, or another transaction` +
      ` used nonce ${sent.nonce}): another try is safe`;
    super(why, told, sent, cause);
  }
}
