/**
 * What became of a signed transaction, and how an order ended: the one place that tells it. Only the
 * caller's own node decides, about the transaction that the caller signed. What a service reports is a
 * claim.
 */
import { ClientError, NodeRpcError, UnexpectedResponse } from "./errors.js";
import {
  MayBeMined,
  NeverMined,
  MinedAnyway,
  OrderStillOpen,
  StatusContradiction,
  TransactionFailed,
  TransactionReplaced,
  type Outcome,
  type Submitted,
} from "./flow-errors.js";
import { hex, latestBlock, nonceOf, receiptOf, requireMainnet, small, type Receipt } from "./node.js";
import { followOrder, isTerminal, patienceOf, pauseOf, type Context } from "./polling.js";
import { isObject, object } from "./reading.js";
import { rpc, type Transport } from "./transport.js";
import type { OrderStatus } from "./types.js";

/** Two blocks: time for the receipt of a transaction whose nonce is used already. */
const SURE_S = 24;
/** Looks with a used nonce and no receipt: backends of one RPC URL may be at different blocks. */
const SURE_LOOKS = 3;
/** Blocks, with its own, that a transaction must have before another one may take its place. */
const SAFE_DEPTH = 2;
/** How far back every node has the state. */
const SEARCHED_BLOCKS = 127;
/** The least number of looks at a confirmed order, and the least time in s. */
const RECEIPT_LOOKS = 10;
const RECEIPT_S = 18;
/** How long a node may fail for good before a sent transaction counts as undecided, in s. */
const HOPELESS_S = 18;

/** Event: the caller's own node is now watched for `seconds`; `why` is the reason. */
export interface OutcomeWatch {
  readonly why: string;
  readonly sent: Submitted;
  readonly seconds: number;
}

/** The end of a watch. A shallow `receipt` of a revert may come with `open`. */
export interface Seen {
  readonly fate: Outcome;
  readonly receipt?: Receipt | undefined;
  /** The error of the last look, if it failed. */
  readonly trouble?: ClientError | undefined;
}

interface Sighting {
  readonly head: number;
  readonly nextNonce: number;
  readonly receipt: Receipt | undefined;
}

/** Look at a transaction at the own node, which proves its chain before and after. */
async function look(io: Transport, { txHash, wallet }: Submitted): Promise<Sighting> {
  await requireMainnet(io);
  // the nonce before the receipt: the block that uses it may come between the two
  const nextNonce = await nonceOf(io, wallet, "latest");
  const receipt = await receiptOf(io, txHash);
  const head = small((await latestBlock(io))["number"]);
  await requireMainnet(io);
  if (receipt && receipt.transactionHash.toLowerCase() !== txHash.toLowerCase())
    throw new UnexpectedResponse("the node answered the receipt of another transaction");
  return { head, nextNonce, receipt };
}

/** The block that used the nonce; undefined if it is older than what every node can show. */
async function blockOfNonce(io: Transport, { wallet, nonce }: Submitted, head: number): Promise<number | undefined> {
  let [low, high] = [Math.max(head - SEARCHED_BLOCKS, 0), head];
  if ((await nonceOf(io, wallet, hex(low))) > nonce) return undefined;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((await nonceOf(io, wallet, hex(middle))) > nonce) high = middle;
    else low = middle;
  }
  return high;
}

async function holds(io: Transport, block: number, txHash: string): Promise<boolean> {
  const found = object(await rpc(io, "eth_getBlockByNumber", [hex(block), true]), "block")["transactions"];
  if (!Array.isArray(found)) throw new UnexpectedResponse("the node answered an unreadable block");
  return found.some((each) => isObject(each) && String(each["hash"]).toLowerCase() === txHash.toLowerCase());
}

/** Judges looks at a transaction one after another. */
function judging(io: Transport, sent: Submitted, sureLooks: number) {
  let passed = 0;
  let since = 0;

  const isReplaced = async (head: number): Promise<boolean> => {
    try {
      const block = await blockOfNonce(io, sent, head);
      if (block !== undefined) return !(await holds(io, block, sent.txHash)) && head - block + 1 >= SAFE_DEPTH;
    } catch (error) {
      if (!(error instanceof NodeRpcError)) throw error; // it has no such state
    }
    if (passed < sureLooks || io.seconds() - since < SURE_S) return false;
    return (await nonceOf(io, sent.wallet, "finalized")) > sent.nonce;
  };

  return async ({ head, nextNonce, receipt }: Sighting): Promise<Outcome> => {
    if (receipt?.succeeded) return "mined";
    if (receipt) return head - receipt.blockNumber + 1 >= SAFE_DEPTH ? "reverted" : "open";
    if (nextNonce <= sent.nonce) return "open";
    if (!passed) since = io.seconds();
    passed += 1;
    return (await isReplaced(head)) ? "replaced" : "open";
  };
}

/**
 * Look at a transaction until it is decided, for at most `seconds`, at least once. No error of the node
 * decides it; one that is not transient ends the watch after `givesUpS`.
 */
export async function watchTransaction(
  { io, polling }: Context,
  sent: Submitted,
  seconds: number,
  sureLooks = SURE_LOOKS,
  givesUpS = Infinity,
): Promise<Seen> {
  const started = io.seconds();
  const judge = judging(io, sent, sureLooks);
  let failingSince = started;
  for (let failures = 0; ; ) {
    let wait = polling.nodeIntervalS;
    let trouble: ClientError | undefined;
    let receipt: Receipt | undefined;
    const before = io.seconds();
    try {
      const sighting = await look(io, sent);
      const fate = await judge(sighting);
      receipt = sighting.receipt;
      if (fate !== "open") return { fate, receipt };
      failures = 0;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (!failures) failingSince = before;
      wait = pauseOf(polling, (failures += 1), error);
      trouble = error;
    }
    const now = io.seconds();
    const isHopeless = trouble && !trouble.isTransient && now - failingSince + wait > givesUpS;
    if (now - started + wait > seconds || isHopeless) return { fate: "open", receipt, trouble };
    await io.sleep(wait);
  }
}

/** The error for an outcome. */
export function errorFor(
  fate: Outcome,
  why: string,
  sent: Submitted,
  cause?: ClientError,
  receipt?: Receipt,
): ClientError {
  if (fate === "mined") return new MinedAnyway(why, sent, cause, receipt);
  return fate === "open" ? new MayBeMined(why, sent, cause) : new NeverMined(why, sent, cause);
}

/**
 * Wait for the receipt of a transaction that was sent. Throws TransactionFailed, TransactionReplaced or
 * OrderStillOpen, and MayBeMined if the node fails.
 */
export async function minedReceipt(context: Context, sent: Submitted): Promise<Receipt> {
  const { io, polling } = context;
  const started = io.seconds();
  const { fate, receipt, trouble } = await watchTransaction(context, sent, patienceOf(polling), 2, HOPELESS_S);
  if (receipt?.succeeded) return receipt;
  if (receipt) throw new TransactionFailed(sent.what, sent.txHash);
  if (fate === "replaced") throw new TransactionReplaced(sent.txHash);
  if (trouble && !trouble.isTransient) throw errorFor("open", trouble.message, sent, trouble);
  throw new OrderStillOpen(sent.txHash, "not mined", io.seconds() - started).of(sent);
}

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
      const { receipt } = await look(io, sent);
      if (receipt) return { fate: receipt.succeeded ? "mined" : "reverted", receipt };
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
    const receipt = await receiptOf(io, txHash);
    await requireMainnet(io);
    const isIt = receipt?.succeeded && receipt.transactionHash.toLowerCase() === txHash.toLowerCase();
    return isIt ? new OrderEnd(record, { fate: "mined", receipt }) : unchecked;
  } catch (error) {
    if (error instanceof ClientError) return unchecked;
    throw error;
  }
}

/** Follow an order until the service calls it final; return what the own node shows. */
export async function followToEnd(
  context: Context,
  orderId: string,
  watch: (record: OrderStatus) => void,
): Promise<OrderEnd> {
  const sent = context.orders.get(orderId);
  const record = await followOrder(context, orderId, watch, undefined, sent?.txHash);
  return judgeRecord(context, record, sent);
}
