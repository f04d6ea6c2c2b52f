/** Simulation of a swap on the caller's own node, before it is signed. */
import { NodeRpcError, UnexpectedResponse } from "./errors.js";
import { UnsafeQuote } from "./flow-errors.js";
import { masked } from "./foreign-text.js";
import { GAS_MULTIPLE_HALVES, MODEST_GAS } from "./generated/rules.js";
import {
  LATEST,
  allowanceData,
  allowanceOf,
  balanceData,
  balanceOf,
  hex,
  isLog,
  viewCall,
  type Log,
} from "./node.js";
import { checkUnsimulated } from "./quote-checks.js";
import { isObject, object, quantity, word, type Json } from "./reading.js";
import { oneMoment, readAhead, type RpcCall } from "./rpc-batch.js";
import { rpc, type Transport } from "./transport.js";
import { blockIn, convertedBy, isProbed, readBlock, state, withRoot, type Block, type State, type Trial } from "./trial.js";
import { arrived, brokenEffect, readLogs } from "./wallet-effects.js";

/** `delivers` is undefined, with a `reason`, if the node cannot simulate. */
export interface SwapSimulation {
  readonly delivers: bigint | undefined;
  readonly reason?: string;
  /** Gas units after refunds. */
  readonly gasUsed?: bigint | undefined;
}

const NO_SUCH_FORM = -32602;
const ROOT_NAMES = ["beaconRoot", "parentBeaconBlockRoot"] as const;
/** Most blocks on which a trial begins, if a new one comes each time. */
const HEADS = 3;
const LACKS = /does not exist|not (supported|found|available|implemented|allowed)|unsupported|unknown method/;

const unsafe = (why: string) => new UnsafeQuote(`tried on your node ${why}`);

/**
 * Simulate the swap, not before block `since`, which has the approval. A batch needs a node that can. Throws
 * UnsafeQuote.
 */
export async function simulateSwap(
  io: Transport,
  swap: Trial,
  since = 0,
  planned?: Json,
  beside: readonly RpcCall[] = [],
): Promise<SwapSimulation> {
  const { quote, request, isBatched } = swap;
  const now = io.moment ? io : oneMoment(io);
  const { block, trial } = await runAhead(now, swap, { since, planned, beside });
  const head = hex(block.number);
  const before = {
    sell: await balanceOf(now, request.sellToken, request.wallet, head),
    buy: await balanceOf(now, request.buyToken, request.wallet, head),
    allowance: await allowanceOf(now, request.sellToken, request.wallet, quote.dexRoute.target, head),
  };
  let answer: unknown;
  try {
    answer = await answerOf(now, trial, head);
  } catch (error) {
    if (!(error instanceof NodeRpcError)) throw error;
    const lacks = [-32601, NO_SUCH_FORM].includes(error.code) || LACKS.test(error.message.toLowerCase());
    if (isBatched || !lacks) throw new UnsafeQuote(`your node cannot try the swap (${error.message})`);
    checkUnsimulated(quote);
    return { delivers: undefined, reason: error.message };
  }
  const found = results(answer, swap);
  const simulation = judge(found, swap, before);
  await checkGas(now, found.swap, swap, block);
  return simulation;
}

interface Beside {
  readonly since: number;
  readonly planned: Json | undefined;
  readonly beside: readonly RpcCall[];
}

/**
 * Ask for balances and trial in one batch, on the block of the plan, and again if there is a later one.
 * Return the block and its trial.
 */
async function runAhead(
  io: Transport,
  swap: Trial,
  { since, planned, beside }: Beside,
): Promise<{ block: Block; trial: State }> {
  const { quote, request } = swap;
  const { wallet, sellToken, buyToken } = request;
  let block = planned ? blockIn(planned) : await readBlock(io, since);
  for (let round = 1; ; round += 1) {
    const trial = state(swap, block);
    if (round > HEADS) return { block, trial };
    const head = hex(block.number);
    await readAhead(io, [
      LATEST,
      viewCall(sellToken, balanceData(wallet), head),
      viewCall(buyToken, balanceData(wallet), head),
      viewCall(sellToken, allowanceData(wallet, quote.dexRoute.target), head),
      ["eth_simulateV1", [withRoot(trial, ROOT_NAMES[0]), head]],
      ...beside,
    ]);
    const latest = await readBlock(io, since);
    if (latest.hash === block.hash) return { block, trial };
    block = latest;
  }
}

/**
 * The node's answer. A node that refuses members it does not know gets the beacon root by Besu's name,
 * then, as old Reth, without one.
 */
async function answerOf(io: Transport, state: State, head: string): Promise<unknown> {
  for (const name of ROOT_NAMES) {
    try {
      return await rpc(io, "eth_simulateV1", [withRoot(state, name), head]);
    } catch (error) {
      if (!(error instanceof NodeRpcError) || error.code !== NO_SUCH_FORM) throw error;
    }
  }
  return rpc(io, "eth_simulateV1", [withRoot(state), head]);
}

/** The result of one simulated call. */
interface Tried {
  readonly succeeded: boolean;
  readonly returnData: unknown;
  readonly gasUsed: bigint;
  /** Before refunds, where the node tells it. */
  readonly peak: bigint;
  readonly tellsPeak: boolean;
  readonly logs: readonly Log[];
  readonly message: string;
}

interface Results {
  readonly swap: Tried;
  readonly sell: Tried;
  readonly buy: Tried;
  readonly probe: readonly Tried[];
  /** Of a batch: the allowance that is left, and whether the wallet's code supports the mode. */
  readonly batch: readonly Tried[];
}

const unreadable = () => new UnexpectedResponse("eth_simulateV1: the node's answer cannot be read");

function results(answer: unknown, trial: Trial): Results {
  const blocks = Array.isArray(answer) ? answer.map(calls) : [];
  const [[swap, ...more] = [], [sell, buy, ...others] = []] = blocks;
  const steps = isProbed(trial) ? 5 : 0;
  const count = steps + (trial.isBatched ? 2 : 0);
  if (blocks.length !== 2 || more.length || others.length !== count || !swap || !sell || !buy) throw unreadable();
  return { swap, sell, buy, probe: others.slice(0, steps), batch: others.slice(steps) };
}

function calls(block: unknown): Tried[] {
  const found: unknown = object(block, "block")["calls"];
  return Array.isArray(found) ? found.map((call) => tried(object(call, "call"))) : [];
}

function tried(call: Json): Tried {
  const { status, returnData = "0x", gasUsed, maxUsedGas, logs = [], error } = call;
  if (!Array.isArray(logs) || !logs.every(isLog)) throw unreadable();
  return {
    succeeded: quantity(status) === 1n,
    returnData,
    gasUsed: quantity(gasUsed),
    peak: quantity(maxUsedGas ?? gasUsed),
    tellsPeak: maxUsedGas !== undefined && maxUsedGas !== null,
    logs,
    message: isObject(error) ? masked(error["message"]).replace(/[^ -~]/g, "").slice(0, 120).trim() : "",
  };
}

interface Before {
  readonly sell: bigint;
  readonly buy: bigint;
  readonly allowance: bigint;
}

function judge(found: Results, trial: Trial, before: Before): SwapSimulation {
  const { quote, request, isBatched } = trial;
  const { swap, sell, buy } = found;
  const minimum = BigInt(quote.minBuyAmount);
  if (!swap.succeeded) throw unsafe(`the swap reverts${swap.message && `: ${swap.message}`}`);
  if (isBatched) requireBatched(found.batch);
  const logs = readLogs(swap.logs);
  const sellAmount = BigInt(quote.sellAmount);
  const converted = convertedBy(trial);
  const allowance = isBatched ? sellAmount : before.allowance;
  const bounds = { ...request, ...converted, sellAmount, router: quote.dexRoute.target, allowance };
  const broken = brokenEffect(logs, bounds, before.sell, held(sell));
  if (broken) throw unsafe(broken);
  const delivers = held(buy) - before.buy + converted.unwrapped;
  if (delivers < minimum) throw unsafe(`it delivers ${delivers}, not ${minimum}`);
  if (isProbed(trial)) {
    const missing = arrived(logs, request.wallet, request.buyToken) - delivers;
    checkTransferFee(found, quote.buyToken, minimum, missing);
  }
  return { delivers, gasUsed: swap.gasUsed };
}

/** Refuse code of the wallet that does not know the mode, or an allowance that is left. Throws UnsafeQuote. */
function requireBatched([left, mode]: readonly Tried[]): void {
  const read = (view: Tried | undefined) => (view?.succeeded ? word(view.returnData) : undefined);
  if (read(mode) !== 1n) throw unsafe("the wallet's code does not support the mode of the batch");
  if (read(left) !== 0n) throw unsafe(`it leaves the router an allowance of ${read(left)}`);
}

function held(view: Tried | undefined): bigint {
  if (!view?.succeeded) throw new UnsafeQuote("a token does not tell the wallet's balance on your node");
  return word(view.returnData);
}

/**
 * Refuse a gas limit far above the peak of the gas used, before refunds: it could cost much more. A node
 * that tells no peak shows too little from Amsterdam on, since the gas of storage that is set and cleared
 * again is given back in full (EIP-8037): the swap then has to fail with the least gas that fits the limit.
 */
async function checkGas(
  io: Transport,
  { peak, tellsPeak }: Tried,
  swap: Trial,
  block: Block,
): Promise<void> {
  const limit = BigInt(swap.quote.mevProtection.transactionParams.gasLimit);
  if (limit <= MODEST_GAS || limit <= (peak * GAS_MULTIPLE_HALVES) / 2n) return;
  if (block.isAmsterdam && !tellsPeak) {
    const trial = state(swap, block, (limit * 2n) / GAS_MULTIPLE_HALVES);
    const answer = await answerOf(io, trial, hex(block.number));
    if (!results(answer, swap).swap.succeeded) return;
  }
  throw new UnsafeQuote(`its gas limit is ${limit}, though it uses ${peak} tried on your node`);
}

/** Refuse a buy token with a fee on transfer, which the quote's router does not detect. */
function checkTransferFee({ probe, buy }: Results, buyToken: string, part: bigint, missing: bigint): void {
  const [, , back, , collected] = probe;
  const isWhole =
    probe.every((step) => step.succeeded) &&
    held(buy) - held(back) <= 0n &&
    part - held(collected) <= 0n;
  if (missing > 0n || !isWhole)
    throw unsafe(
      `${buyToken} takes a fee on transfer, or cannot be sent on, and this router's minimum` +
        " holds only before that",
    );
}
