/**
 * Simulation of a swap on the caller's own node (`eth_simulateV1`), before it is signed. Every field
 * equals that of the transaction or of the next block, so that a contract cannot tell them apart;
 * with `validation`, because without it gas price and base fee may be 0.
 */
import { bytesToHex } from "./evm.js";
import { payer } from "./calldata.js";
import { NodeRpcError, UnexpectedResponse } from "./errors.js";
import { UnsafeQuote } from "./flow-errors.js";
import { masked } from "./foreign-text.js";
import { GAS_MULTIPLE_HALVES, MODEST_GAS, MOST_VIEWS, SLOT_S, VIEW_GAS } from "./generated/rules.js";
import { allowanceOf, balanceData, balanceOf, hex, isLog, latestBlock, pad, type Log } from "./node.js";
import { checkUnsimulated, measuresItself, type SwapTerms } from "./quote-checks.js";
import { isObject, object, quantity, textOf, word, type Json } from "./reading.js";
import { quantities, toSign } from "./signing.js";
import { rpc, type Transport } from "./transport.js";
import type { SwapQuote } from "./types.js";
import { arrived, brokenEffect, readLogs } from "./wallet-effects.js";

/** `delivers` is undefined, with a `reason`, if the node cannot simulate. */
export interface SwapSimulation {
  readonly delivers: bigint | undefined;
  readonly reason?: string;
  /** Gas units after refunds. */
  readonly gasUsed?: bigint | undefined;
}

const ETHER = 10n ** 18n;
/** The contracts of EIP-2935 and EIP-4788, and the number of entries of both. */
const HASHES = "0x0000F90827F1C53a10cb7A02335B175320002935";
const ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02";
const RING = 8191n;
const NO_SUCH_FORM = -32602;
const LACKS = /does not exist|not (supported|found|available|implemented|allowed)|unsupported|unknown method/;

/** The parameter of a simulation. */
interface State {
  readonly blockStateCalls: readonly {
    readonly blockOverrides: ReturnType<typeof blockOverrides>;
    readonly stateOverrides: object;
    readonly calls: readonly object[];
  }[];
  readonly traceTransfers: boolean;
  readonly validation: boolean;
}

const unsafe = (why: string) => new UnsafeQuote(`tried on your node ${why}`);

/** What the next blocks are derived from: the latest block, `time` in Unix seconds, and the next base fee. */
interface Block {
  readonly number: bigint;
  readonly hash: string;
  readonly time: bigint;
  readonly gasLimit: bigint;
  readonly baseFee: bigint;
  readonly miner: string;
}

async function readBlock(io: Transport, since: number): Promise<Block> {
  const block = await latestBlock(io, since);
  const read = (name: string) => quantity(block[name]);
  const gasLimit = read("gasLimit");
  const baseFee = nextBaseFee(read("baseFeePerGas"), read("gasUsed"), gasLimit / 2n);
  const [hash, miner] = [textOf(block["hash"]), textOf(block["miner"])];
  return { number: read("number"), hash, time: read("timestamp"), gasLimit, baseFee, miner };
}

/** The base fee of the next block (https://eips.ethereum.org/EIPS/eip-1559). */
function nextBaseFee(baseFee: bigint, gasUsed: bigint, target: bigint): bigint {
  if (!target) return baseFee;
  const change = (baseFee * (gasUsed - target)) / target / 8n;
  return baseFee + (gasUsed > target && !change ? 1n : change);
}

/**
 * Simulate the swap, not before block `since`, which has the approval. Throws UnsafeQuote.
 */
export async function simulateSwap(
  io: Transport,
  quote: SwapQuote,
  request: SwapTerms,
  since = 0,
): Promise<SwapSimulation> {
  const block = await readBlock(io, since);
  const head = hex(block.number);
  const before = {
    sell: await balanceOf(io, request.sellToken, request.wallet, head),
    buy: await balanceOf(io, request.buyToken, request.wallet, head),
    allowance: await allowanceOf(io, request.sellToken, request.wallet, quote.dexRoute.target, head),
  };
  let answer: unknown;
  try {
    answer = await answerOf(io, state(quote, request, block), head);
  } catch (error) {
    if (!(error instanceof NodeRpcError)) throw error;
    const lacks = [-32601, NO_SUCH_FORM].includes(error.code) || LACKS.test(error.message.toLowerCase());
    if (!lacks) throw new UnsafeQuote(`your node cannot try the swap (${error.message})`);
    checkUnsimulated(quote);
    return { delivers: undefined, reason: error.message };
  }
  return judge(results(answer, measuresItself(quote)), quote, request, before);
}

/**
 * The node's answer. A node that refuses members it does not know gets the beacon root by Besu's name,
 * then, as old Reth, without one.
 */
async function answerOf(io: Transport, state: State, head: string): Promise<unknown> {
  for (const name of ["beaconRoot", "parentBeaconBlockRoot"]) {
    try {
      return await rpc(io, "eth_simulateV1", [withRoot(state, name), head]);
    } catch (error) {
      if (!(error instanceof NodeRpcError) || error.code !== NO_SUCH_FORM) throw error;
    }
  }
  return rpc(io, "eth_simulateV1", [withRoot(state), head]);
}

function withRoot(state: State, name?: string): unknown {
  const blockStateCalls = state.blockStateCalls.map(({ blockOverrides, ...block }) => {
    const { beaconRoot, ...rest } = blockOverrides;
    return { blockOverrides: name === undefined ? rest : { ...rest, [name]: beaconRoot }, ...block };
  });
  return { ...state, blockStateCalls };
}

/**
 * The swap in the next block; in the one after it the balances. If the router measures its own
 * balance, that block also measures a fee on transfer: from the payer to the wallet, and from the
 * wallet to a random address. The nonce is not set: a contract cannot read it, and a node refuses one
 * that follows a pending transaction.
 */
function state(quote: SwapQuote, request: SwapTerms, block: Block): State {
  const { wallet, sellToken, buyToken } = request;
  const fee = 2n * block.baseFee;
  const fees = { gas: hex(VIEW_GAS), maxFeePerGas: hex(fee), maxPriorityFeePerGas: "0x0" };
  const view = (to: string, data: string) => ({ from: wallet, to, data, ...fees });
  const calls: object[] = [sellToken, buyToken].map((token) => view(token, balanceData(wallet)));
  const balance = hex(plausibleWei(MOST_VIEWS * VIEW_GAS * fee));
  const stateOverrides: Record<string, object> = { [wallet]: { balance } };
  if (measuresItself(quote)) {
    const from = payer(quote.dexRoute.target, quote.dexRoute.data, buyToken);
    const collector = random(20);
    const transfer = (to: string) => `0xa9059cbb${pad(to)}${pad(BigInt(quote.minBuyAmount))}`;
    for (const [to, data] of [
      [buyToken, transfer(from)],
      [from, transfer(wallet)],
      [buyToken, balanceData(wallet)],
      [buyToken, transfer(collector)],
      [buyToken, balanceData(collector)],
    ] as const)
      calls.push(view(to, data));
    const code = forwarder(buyToken);
    if (from.toLowerCase() === wallet.toLowerCase()) stateOverrides[wallet] = { balance, code };
    else stateOverrides[from] = { code };
  }
  const { type, chainId, nonce, ...members } = toSign(quote.mevProtection.transactionParams);
  const swap = { from: wallet, ...quantities(members) };
  const first = blockOverrides(block, 1n);
  return {
    blockStateCalls: [
      { blockOverrides: first, calls: [swap], stateOverrides: history(block, first) },
      { blockOverrides: blockOverrides(block, 2n), calls, stateOverrides },
    ],
    traceTransfers: true,
    validation: true,
  };
}

/** Code that forwards its calldata to `token`, so that the token sees a sender with code. */
const forwarder = (token: string) =>
  `0x365f5f375f5f365f5f73${token.slice(2).toLowerCase()}5af16026575f5ffd5b00`;

const random = (bytes: number) => bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));

/** A random number from 0 to below `bound`. */
const below = (bound: bigint) => BigInt(random(32)) % bound;

/** A random balance in wei above `needed`, by some thousandths of an ETH to some ETH. */
const plausibleWei = (needed: bigint) => needed + ETHER / 1000n + below((ETHER / 100n) * 10n ** below(3n));

const blockOverrides = (block: Block, later: bigint) => ({
  number: hex(block.number + later),
  time: hex(block.time + later * SLOT_S),
  gasLimit: hex(block.gasLimit),
  feeRecipient: block.miner,
  prevRandao: random(32),
  baseFeePerGas: hex(block.baseFee),
  beaconRoot: random(32),
});

/**
 * State overrides with what the system calls at the start of the block write, and a contract can read:
 * the hash of the parent (EIP-2935) and the parent beacon root (EIP-4788). Some nodes make no such
 * calls in a simulation; others write over this.
 */
function history(block: Block, { beaconRoot }: { readonly beaconRoot: string }): object {
  const time = block.time + SLOT_S;
  const slot = (at: bigint) => `0x${pad(at)}`;
  return {
    [HASHES]: { stateDiff: { [slot(block.number % RING)]: block.hash } },
    [ROOTS]: { stateDiff: { [slot(time % RING)]: slot(time), [slot((time % RING) + RING)]: beaconRoot } },
  };
}

/** The result of one simulated call. */
interface Tried {
  readonly succeeded: boolean;
  readonly returnData: unknown;
  readonly gasUsed: bigint;
  /** Before refunds, where the node tells it. */
  readonly peak: bigint;
  readonly logs: readonly Log[];
  readonly message: string;
}

interface Results {
  readonly swap: Tried;
  readonly sell: Tried;
  readonly buy: Tried;
  readonly probe: readonly Tried[];
}

const unreadable = () => new UnexpectedResponse("eth_simulateV1: the node's answer cannot be read");

function results(answer: unknown, isProbed: boolean): Results {
  const blocks = Array.isArray(answer) ? answer.map(calls) : [];
  const [[swap, ...more] = [], [sell, buy, ...probe] = []] = blocks;
  if (blocks.length !== 2 || more.length || probe.length !== (isProbed ? 5 : 0) || !swap || !sell || !buy)
    throw unreadable();
  return { swap, sell, buy, probe };
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
    logs,
    message: isObject(error) ? masked(error["message"]).replace(/[^ -~]/g, "").slice(0, 120).trim() : "",
  };
}

interface Before {
  readonly sell: bigint;
  readonly buy: bigint;
  readonly allowance: bigint;
}

function judge(found: Results, quote: SwapQuote, request: SwapTerms, before: Before): SwapSimulation {
  const { swap, sell, buy } = found;
  const minimum = BigInt(quote.minBuyAmount);
  if (!swap.succeeded) throw unsafe(`the swap reverts${swap.message && `: ${swap.message}`}`);
  const logs = readLogs(swap.logs);
  const sellAmount = BigInt(quote.sellAmount);
  const bounds = { ...request, sellAmount, router: quote.dexRoute.target, allowance: before.allowance };
  const broken = brokenEffect(logs, bounds, before.sell, held(sell));
  if (broken) throw unsafe(broken);
  const delivers = held(buy) - before.buy;
  if (delivers < minimum) throw unsafe(`it delivers ${delivers}, not ${minimum}`);
  if (measuresItself(quote)) {
    const missing = arrived(logs, request.wallet, request.buyToken) - delivers;
    checkTransferFee(found, quote, minimum, missing);
  }
  checkGas(quote, swap.peak);
  return { delivers, gasUsed: swap.gasUsed };
}

function held(view: Tried | undefined): bigint {
  if (!view?.succeeded) throw new UnsafeQuote("a token does not tell the wallet's balance on your node");
  return word(view.returnData);
}

/** Refuse a gas limit far above the peak of the gas used, before refunds: it could cost much more. */
function checkGas(quote: SwapQuote, peak: bigint): void {
  const limit = BigInt(quote.mevProtection.transactionParams.gasLimit);
  if (limit > MODEST_GAS && limit > (peak * GAS_MULTIPLE_HALVES) / 2n)
    throw new UnsafeQuote(`its gas limit is ${limit}, though it uses ${peak} tried on your node`);
}

/** Refuse a buy token with a fee on transfer, which the quote's router does not detect. */
function checkTransferFee({ probe, buy }: Results, quote: SwapQuote, part: bigint, missing: bigint): void {
  const [, , back, , collected] = probe;
  const isWhole =
    probe.every((step) => step.succeeded) &&
    held(buy) - held(back) <= 0n &&
    part - held(collected) <= 0n;
  if (missing > 0n || !isWhole)
    throw unsafe(
      `${quote.buyToken} takes a fee on transfer, or cannot be sent on, and this router's minimum` +
        " holds only before that",
    );
}
