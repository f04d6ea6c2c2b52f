/**
 * The call that simulates a swap (`eth_simulateV1`). Every field equals that of the transaction or of
 * the next block, so that a contract cannot tell them apart; with `validation`, because without it gas
 * price and base fee may be 0.
 */
import { payer } from "./calldata.js";
import { bytesToHex } from "./evm.js";
import { SUPPORTS_MODE } from "./batch.js";
import { MOST_VIEWS, SLOT_S, VIEW_GAS } from "./generated/rules.js";
import { allowanceData, balanceData, hex, latestBlock, pad } from "./node.js";
import { measuresItself, type SwapTerms } from "./quote-checks.js";
import { quantity, textOf, type Json } from "./reading.js";
import { quantities, toSign } from "./signing.js";
import type { Transport } from "./transport.js";
import type { SwapQuote } from "./types.js";

const ETHER = 10n ** 18n;
/** The contracts of EIP-2935 and EIP-4788, and the number of entries of both. */
const HASHES = "0x0000F90827F1C53a10cb7A02335B175320002935";
const ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02";
const RING = 8191n;

/** What is tried: the transaction of a quote, which may be its batched form. */
export interface Trial {
  readonly quote: SwapQuote;
  readonly request: SwapTerms;
  readonly isBatched: boolean;
}

/** Wei that the transaction wraps before the swap, and unwraps after it. */
export function convertedBy({ quote, request, isBatched }: Trial): { wrapped: bigint; unwrapped: bigint } {
  const operation = isBatched ? request.batchConversion : undefined;
  return {
    wrapped: operation === "wrap" ? BigInt(quote.sellAmount) : 0n,
    unwrapped: operation === "unwrap" ? BigInt(quote.minBuyAmount) : 0n,
  };
}

/** Whether a fee on transfer of the buy token is measured: what is unwrapped is WETH, which takes none. */
export const isProbed = (trial: Trial): boolean => measuresItself(trial.quote) && !convertedBy(trial).unwrapped;

/** The parameter of a simulation. */
export interface State {
  readonly blockStateCalls: readonly {
    readonly blockOverrides: ReturnType<typeof blockOverrides>;
    readonly stateOverrides: object;
    readonly calls: readonly object[];
  }[];
  readonly traceTransfers: boolean;
  readonly validation: boolean;
}

/** What the next blocks are derived from: the latest block, `time` in Unix seconds, and the next base fee. */
export interface Block {
  readonly number: bigint;
  readonly hash: string;
  readonly time: bigint;
  readonly gasLimit: bigint;
  readonly baseFee: bigint;
  readonly miner: string;
  readonly isAmsterdam: boolean;
}

export const readBlock = async (io: Transport, since: number): Promise<Block> => blockIn(await latestBlock(io, since));

export function blockIn(block: Json): Block {
  const read = (name: string) => quantity(block[name]);
  const gasLimit = read("gasLimit");
  const baseFee = nextBaseFee(read("baseFeePerGas"), read("gasUsed"), gasLimit / 2n);
  const [hash, miner] = [textOf(block["hash"]), textOf(block["miner"])];
  const isAmsterdam = typeof block["blockAccessListHash"] === "string";
  return { number: read("number"), hash, time: read("timestamp"), gasLimit, baseFee, miner, isAmsterdam };
}

/** The base fee of the next block (https://eips.ethereum.org/EIPS/eip-1559). */
function nextBaseFee(baseFee: bigint, gasUsed: bigint, target: bigint): bigint {
  if (!target) return baseFee;
  const change = (baseFee * (gasUsed - target)) / target / 8n;
  return baseFee + (gasUsed > target && !change ? 1n : change);
}

/**
 * The swap in the next block; in the one after it the balances. If the router measures its own
 * balance, that block also measures a fee on transfer: from the payer to the wallet, and from the
 * wallet to a random address. The nonce is not set: a contract cannot read it, and a node refuses one
 * that follows a pending transaction. `gas` is in the place of the quote's limit. After a batch the wallet reads
 * the allowance that is left, and whether its code supports the mode.
 */
export function state(trial: Trial, block: Block, gas?: bigint): State {
  const { quote, request, isBatched } = trial;
  const { wallet, sellToken, buyToken } = request;
  const fee = 2n * block.baseFee;
  const fees = { gas: hex(VIEW_GAS), maxFeePerGas: hex(fee), maxPriorityFeePerGas: "0x0" };
  const view = (to: string, data: string) => ({ from: wallet, to, data, ...fees });
  const calls: object[] = [sellToken, buyToken].map((token) => view(token, balanceData(wallet)));
  const balance = hex(plausibleWei(MOST_VIEWS * VIEW_GAS * fee));
  const stateOverrides: Record<string, object> = { [wallet]: { balance } };
  if (isProbed(trial)) {
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
  if (isBatched) {
    calls.push(view(sellToken, allowanceData(wallet, quote.dexRoute.target)), view(wallet, SUPPORTS_MODE));
  }
  const { type, chainId, nonce, ...members } = toSign(quote.mevProtection.transactionParams);
  const swap = { from: wallet, ...quantities(members), ...(gas && { gas: hex(gas) }) };
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

/** The state with the beacon root by a name, or without one. */
export function withRoot(state: State, name?: string): unknown {
  const blockStateCalls = state.blockStateCalls.map(({ blockOverrides, ...block }) => {
    const { beaconRoot, ...rest } = blockOverrides;
    return { blockOverrides: name === undefined ? rest : { ...rest, [name]: beaconRoot }, ...block };
  });
  return { ...state, blockStateCalls };
}
