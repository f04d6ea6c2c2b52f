/**
 * What became of a signed transaction: the one place that tells it. Only the caller's own node decides,
 * about the transaction that the caller signed. `order-end.ts` compares an order with it.
 */
import { ClientError, NodeRpcError, UnexpectedResponse, WrongChain } from "./errors.js";
import {
  MayBeMined,
  NeverMined,
  MinedAnyway,
  OrderStillOpen,
  TransactionFailed,
  TransactionReplaced,
  type Outcome,
  type Submitted,
} from "./flow-errors.js";
import { hex, nonceOf, receiptIn, small, type Receipt } from "./node.js";
import { patienceOf, pauseOf, type Context } from "./polling.js";
import { isObject, object, textOf } from "./reading.js";
import { rpcAll, type RpcCall } from "./rpc-batch.js";
import { rpc, type Transport } from "./transport.js";

/** Two blocks: time for the receipt of a transaction whose nonce is used already. */
const SURE_S = 24;
/** Looks with a used nonce and no receipt: backends of one RPC URL may be at different blocks. */
export const SURE_LOOKS = 3;
/**
 * Blocks, with its own, that a transaction must have before another one may take its place. So a cancel
 * counts from there on, too: its receipt makes another swap safe.
 */
export const SAFE_DEPTH = 2;
/** `what` of a cancel. */
export const CANCEL = "the cancel";
/** How far back every node has the state. */
const SEARCHED_BLOCKS = 127;
/** How long a node may fail for good before a sent transaction counts as undecided, in s. */
const HOPELESS_S = 18;

/** Event: the caller's own node is now watched for `seconds`; `why` is the reason. */
export interface OutcomeWatch {
  readonly why: string;
  readonly sent: Submitted;
  readonly seconds: number;
}

/** The end of a watch. A shallow `receipt`, of a revert or a cancel, may come with `open`. */
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

/**
 * Look at a transaction at the own node, which proves its chain in the same answer. In a watch of some
 * `seconds` a busy node is not waited for: the watch waits between its looks.
 */
export async function look(io: Transport, { txHash, wallet }: Submitted, seconds?: number): Promise<Sighting> {
  // the nonce before the receipt: the block that uses it may come between the two
  const [nextNonce, found, head] = await onMainnet(seconds === 0 ? io : { ...io, busyPausesS: [] }, [
    ["eth_getTransactionCount", [wallet, "latest"]],
    ["eth_getTransactionReceipt", [txHash]],
    ["eth_getBlockByNumber", ["latest", false]],
  ]);
  const receipt = readReceipt(found, txHash);
  return { head: small(object(head, "block")["number"]), nextNonce: small(nextNonce), receipt };
}

/** The results of a node that proves its chain in the same answer. Throws WrongChain. */
export async function onMainnet(io: Transport, calls: readonly RpcCall[]): Promise<unknown[]> {
  const [chain, ...results] = await rpcAll(io, [["eth_chainId", []], ...calls]);
  if (small(chain) !== 1) throw new WrongChain(small(chain));
  return results;
}

/** The receipt of this transaction; undefined until it is mined. */
export function readReceipt(found: unknown, txHash: string): Receipt | undefined {
  if (found === null) return undefined;
  const receipt = receiptIn(found);
  if (receipt.transactionHash.toLowerCase() === txHash.toLowerCase()) return receipt;
  throw new UnexpectedResponse("the node answered the receipt of another transaction");
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

/** The hash of the transaction in this block that has the wallet's nonce. */
async function userOfNonce(io: Transport, { wallet, nonce }: Submitted, block: number): Promise<string | undefined> {
  const found = object(await rpc(io, "eth_getBlockByNumber", [hex(block), true]), "block")["transactions"];
  if (!Array.isArray(found)) throw new UnexpectedResponse("the node answered an unreadable block");
  const isUser = (each: unknown) =>
    isObject(each) && textOf(each["from"]).toLowerCase() === wallet.toLowerCase() && small(each["nonce"]) === nonce;
  const user: unknown = found.find(isUser);
  return isObject(user) ? textOf(user["hash"]).toLowerCase() : undefined;
}

/** Judges looks at a transaction one after another. */
export function judging(io: Transport, sent: Submitted, sureLooks: number) {
  let passed = 0;
  let since = 0;

  const isReplaced = async (head: number): Promise<boolean> => {
    try {
      const block = await blockOfNonce(io, sent, head);
      const user = block === undefined ? undefined : await userOfNonce(io, sent, block);
      if (block !== undefined && user !== undefined)
        return user !== sent.txHash.toLowerCase() && head - block + 1 >= SAFE_DEPTH;
    } catch (error) {
      if (!(error instanceof NodeRpcError)) throw error; // it has no such state
    }
    if (passed < sureLooks || io.seconds() - since < SURE_S) return false;
    return (await nonceOf(io, sent.wallet, "finalized")) > sent.nonce;
  };

  return async ({ head, nextNonce, receipt }: Sighting): Promise<Outcome> => {
    if (receipt) {
      const isDeep = head - receipt.blockNumber + 1 >= SAFE_DEPTH;
      if (receipt.succeeded) return isDeep || sent.what !== CANCEL ? "mined" : "open";
      return isDeep ? "reverted" : "open";
    }
    if (nextNonce <= sent.nonce) {
      passed = 0; // what other looks counted was another backend's
      return "open";
    }
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
      const sighting = await look(io, sent, seconds);
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
  if (trouble) throw errorFor("open", trouble.message, sent, trouble);
  throw new OrderStillOpen(sent.txHash, "not mined", io.seconds() - started).of(sent);
}
