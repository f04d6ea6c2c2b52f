/**
 * How an order ended: the service's record compared with the caller's own node. What a service reports
 * is a claim: without a node or a record of what was signed it stays one.
 */
import { ClientError } from "./errors.js";
import { CANCEL, SAFE_DEPTH, SURE_LOOKS, errorFor, judging, look, onMainnet, readReceipt, watchTransaction, type Seen } from "./finality.js";
import { MayBeMined, StatusContradiction, TransactionHashMismatch, type Outcome, type Submitted } from "./flow-errors.js";
import type { Receipt } from "./node.js";
import { throwOutcome } from "./outcome.js";
import { followOrder, isTerminal, type Context } from "./polling.js";
import type { Transport } from "./transport.js";
import type { OrderStatus } from "./types.js";

/** The least number of looks at a confirmed order, and the least time in s. */
const RECEIPT_LOOKS = 10;
const RECEIPT_S = 18;

/**
 * How an order stands: what the service reports, and what the caller's own node shows. `fate` is
 * undefined if nothing could be compared; `unchecked` says why.
 */
export class OrderEnd {
  declare readonly record: OrderStatus;
  declare readonly fate: Outcome | undefined;
  declare readonly receipt: Receipt | undefined;
  declare readonly unchecked: string;
  declare readonly trouble: ClientError | undefined;

  constructor(record: OrderStatus, seen?: Seen, unchecked = "") {
    this.record = record;
    this.fate = seen?.fate;
    this.receipt = seen?.receipt;
    this.trouble = seen?.trouble;
    this.unchecked = unchecked;
  }

  /** The own node was asked; if not, only the service reports the state. */
  get checked(): boolean {
    return this.fate !== undefined;
  }

  /** The own node shows the end. A service's report is none. */
  get isFinal(): boolean {
    return this.checked && this.fate !== "open";
  }

  /** It was mined and succeeded. Unchecked, only the service reports this. */
  get confirmed(): boolean {
    return this.checked ? this.fate === "mined" : this.record.status === "confirmed";
  }

  /** The transaction may still be mined, or have been mined. */
  get mayBeMined(): boolean {
    return !this.isFinal && !this.confirmed;
  }

  /** The service calls the order final, and the own node shows otherwise. */
  get isContradicted(): boolean {
    return isTerminal(this.record) && this.isFinal && (this.record.status === "confirmed") !== this.confirmed;
  }

  /**
   * The record with hash, block and gas of the own node's receipt, where it has one. What only the
   * service says of the amount received is left out then.
   */
  get ownRecord(): OrderStatus {
    if (!this.receipt || !this.isFinal) return this.record;
    const { received: _, delivered: __, ...record } = this.record;
    const { transactionHash: txHash, blockNumber, gasUsed, effectiveGasPrice } = this.receipt;
    const own = { txHash, blockNumber, gasUsed: String(gasUsed), effectiveGasPrice: String(effectiveGasPrice) };
    return { ...record, ...own, feePaidWei: String(gasUsed * effectiveGasPrice) };
  }

  /** Throw MinedAnyway or NeverMined for an end that the service does not report, and as above. */
  requireReport(sent: Submitted | undefined): void {
    this.requireCertainty(sent);
    if (sent && this.fate && !isTerminal(this.record))
      throw errorFor(this.fate, `the service still reports ${this.record.status}`, sent, undefined, this.receipt);
  }

  /** Throw StatusContradiction, or MayBeMined if the own node does not show the end. */
  requireCertainty(sent: Submitted | undefined): void {
    const { orderId, status, txHash } = this.record;
    if (this.isContradicted) throw new StatusContradiction(orderId, status, sent?.txHash ?? txHash ?? "");
    if (sent && this.fate === "open") {
      const shows = this.trouble ? `cannot show it (${this.trouble.message})` : "has no receipt of it";
      const why = `the service says that the order is ${status}, but your own node ${shows}`;
      throw new MayBeMined(why, { ...sent, orderId });
    }
  }
}

/**
 * Compare a record of an order with the own node and with what the caller signed. The node is watched
 * for `seconds`; without it as long as the record needs. Without `sent` the transaction that the service
 * names counts only if the service calls it off and it was mined.
 */
export async function judgeRecord(
  context: Context,
  record: OrderStatus,
  sent: Submitted | undefined,
  seconds?: number,
): Promise<OrderEnd> {
  if (!context.io.hasNode) return new OrderEnd(record, undefined, "not checked: there is no node of yours");
  if (!sent) return namedByService(context.io, record);
  if (record.status === "confirmed") return new OrderEnd(record, await awaitedReceipt(context, sent, seconds));
  const most = isTerminal(record) ? context.polling.doubtS : 0;
  return new OrderEnd(record, await watchTransaction(context, sent, seconds ?? most));
}

/** The receipt of a confirmed order: the own node may be some blocks behind, or fail for a while. */
async function awaitedReceipt({ io, polling }: Context, sent: Submitted, seconds?: number): Promise<Seen> {
  const started = io.seconds();
  const [leastLooks, leastS] = seconds === undefined ? [RECEIPT_LOOKS, RECEIPT_S] : [1, seconds];
  let trouble: ClientError | undefined;
  for (let looks = 0; looks < leastLooks || io.seconds() - started < leastS; looks += 1) {
    if (looks) await io.sleep(polling.nodeIntervalS);
    try {
      const { receipt, head } = await look(io, sent, seconds);
      const isDeep = receipt && head - receipt.blockNumber + 1 >= SAFE_DEPTH;
      if (receipt && (isDeep || sent.what !== CANCEL)) return { fate: receipt.succeeded ? "mined" : "reverted", receipt };
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      trouble = error;
      polling.onTrouble?.(error, polling.nodeIntervalS);
    }
  }
  return { fate: "open", trouble };
}

async function namedByService(io: Transport, record: OrderStatus): Promise<OrderEnd> {
  const { txHash, status } = record;
  const unchecked = new OrderEnd(record, undefined, "not checked: what was signed for it is not recorded here");
  if (!txHash || !isTerminal(record) || status === "confirmed") return unchecked;
  try {
    const [found] = await onMainnet(io, [["eth_getTransactionReceipt", [txHash]]]);
    const receipt = readReceipt(found, txHash);
    return receipt?.succeeded ? new OrderEnd(record, { fate: "mined", receipt }) : unchecked;
  } catch (error) {
    if (error instanceof ClientError) return unchecked;
    throw error;
  }
}

/** Looks at the own node while a service is followed, which may hide the end. */
function ownLooks({ io, polling }: Context, sent: Submitted) {
  const judge = judging(io, sent, SURE_LOOKS);
  const looks = { last: undefined as Seen | undefined, isDecided };
  let since: number | undefined;

  /** Whether the node has shown an end for so long. An error of the node is none. */
  async function isDecided(): Promise<boolean> {
    try {
      const sighting = await look(io, sent);
      const now = io.seconds();
      const fate = await judge(sighting);
      looks.last = fate === "open" ? undefined : { fate, receipt: sighting.receipt };
      since = looks.last && (since ?? now);
      return since !== undefined && now - since >= polling.doubtS;
    } catch (error) {
      if (error instanceof ClientError) return false;
      throw error;
    }
  }
  return looks;
}

/**
 * Follow an order until the service calls it final; return what the own node shows. A service that does
 * not report for `doubtS` what that node shows is not waited for.
 */
export async function followToEnd(
  context: Context,
  orderId: string,
  watch: (record: OrderStatus) => void,
): Promise<OrderEnd> {
  const sent = context.orders.get(orderId);
  const own = sent && context.io.hasNode ? ownLooks(context, sent) : undefined;
  try {
    const record = await followOrder(context, orderId, watch, undefined, sent?.txHash, own?.isDecided);
    if (!isTerminal(record) && own?.last) return new OrderEnd(record, own.last);
    return await judgeRecord(context, record, sent);
  } catch (error) {
    if (sent && error instanceof TransactionHashMismatch) return throwOutcome(context, error, sent, () => undefined);
    throw error;
  }
}
