/** Approvals, sent through the caller's own node, and what they must not endanger. */
import { approvalData } from "./batch.js";
import { ClientError, NodeRpcError } from "./errors.js";
import {
  QuoteDeclined,
  type Submitted,
} from "./flow-errors.js";
import {
  CHAIN_ID,
  LATEST,
  TIP,
  UINT256_MAX,
  allowanceData,
  allowanceOf,
  answered,
  baseFee,
  blockName,
  newestBlock,
  nonceCall,
  nonceOf,
  requireMainnet,
  viewCall,
  type Receipt,
} from "./node.js";
import { errorFor, minedReceipt } from "./finality.js";
import { FROM_ZERO_GAS } from "./generated/rules.js";
import { requireNoOpenOrder } from "./open-orders.js";
import { BACKENDS, retryTransient, type Context } from "./polling.js";
import { approvalAmount, requireCost, type SwapTerms } from "./quote-checks.js";
import { quantity } from "./reading.js";
import { oneMoment, readAhead, type RpcCall } from "./rpc-batch.js";
import { hashOf, sign, type Signer, type Transaction } from "./signing.js";
import type { PlannedApproval, WalletFacts } from "./swap-plan.js";
import { SEND, rpc, type Transport } from "./transport.js";
import type { Hex, SwapQuote } from "./types.js";

/** A reset, an approval and the swap. */
const MOST_NONCES = 3;
/** Node errors for bytes that it already has; then the receipt decides. */
const HELD = /already known|already imported|nonce too low/;

/** One approval that the node took; no block has it yet. `amount` in smallest units. */
export interface ApprovalSent {
  readonly token: string;
  readonly router: string;
  readonly amount: bigint;
  readonly txHash: string;
  readonly nonce: number;
}

/** One approval that was mined; `amount` in smallest units (0 for a reset). */
export interface Approved {
  readonly token: string;
  readonly router: string;
  readonly amount: bigint;
  readonly receipt: Receipt;
}

/** Refuse an approval that the request excludes. Throws QuoteDeclined. */
export function requireMayApprove(request: SwapTerms, quote: SwapQuote, allowance: bigint): void {
  const router = quote.dexRoute.target;
  if (request.approval === "never")
    throw new QuoteDeclined(
      `${router} may move ${allowance} of ${quote.sellAmount} smallest units of the sell token, and approval is never`,
    );
  if (request.nonce !== undefined)
    throw new QuoteDeclined(
      "the swap needs an approval first, which would take a nonce too, and only nonce" +
        ` ${request.nonce} may be signed: once no order of the wallet is open, swap without nonce`,
    );
}

/** Refuse an approval and a swap that would take the nonce of an open order. Throws QuoteDeclined. */
export async function requireFreeNonces(
  context: Context,
  request: SwapTerms,
  { nextNonce: from }: WalletFacts,
): Promise<void> {
  if (request.replace) return;
  const nonces = { from, to: from + MOST_NONCES };
  await requireNoOpenOrder(context, request.wallet, "the approval that this swap needs", nonces);
}

/** How much is approved: the exact amount, or without a limit. */
const limitOf = (request: SwapTerms): bigint => (request.approval === "max" ? UINT256_MAX : approvalAmount(request));

const changeOf = (request: SwapTerms, router: string, amount: bigint) => ({
  from: request.wallet,
  to: request.sellToken,
  data: approvalData(router, amount),
});

const gasCall = (request: SwapTerms, router: string, amount = limitOf(request)): RpcCall => [
  "eth_estimateGas",
  [changeOf(request, router, amount), "latest"],
];

const gasOf = async (io: Transport, ...[method, params]: RpcCall): Promise<bigint> =>
  (quantity(await rpc(io, method, params)) * 5n) / 4n;

/** What `planApprovals` reads. */
export const costReads = (request: SwapTerms, router: string): RpcCall[] => [TIP, LATEST, gasCall(request, router)];

/**
 * The amounts to approve one after another, where `allowed` is approved now. A token that refuses to change
 * an allowance (USDT) is reset first: then these are two transactions.
 */
async function approvalAmounts(io: Transport, request: SwapTerms, router: string, allowed: bigint): Promise<bigint[]> {
  const limit = limitOf(request);
  const resets = allowed > 0n && (await answered(gasOf(io, ...gasCall(request, router)))) === undefined;
  return resets ? [0n, limit] : [limit];
}

/**
 * The approvals that come before a swap, where `allowed` is approved now, and the most that their gas may
 * cost, in wei at the node's current fees. Throws NodeRpcError when the approval reverts.
 */
export async function planApprovals(
  io: Transport,
  request: SwapTerms,
  router: string,
  allowed: bigint,
  beside: readonly RpcCall[],
): Promise<{ approvals: PlannedApproval[]; approvalGasWei: bigint }> {
  await readAhead(io, [...costReads(request, router), ...beside]);
  const amounts = await approvalAmounts(io, request, router, allowed);
  const fee = 2n * (await baseFee(io)) + quantity(await rpc(io, ...TIP));
  let gas = await answered(gasOf(io, ...gasCall(request, router)));
  if (gas === undefined) {
    const reset = await gasOf(io, ...gasCall(request, router, 0n));
    gas = reset + ((reset + FROM_ZERO_GAS) * 5n) / 4n;
  }
  const approvals = amounts.map((amount) => ({ token: request.sellToken, router, amount }));
  return { approvals, approvalGasWei: gas * fee };
}

/**
 * Refuse an approval while the node has a transaction of the wallet that no block has. It may be the
 * approval of an earlier try, and a second one would be paid for, too. The swap would have to wait for
 * it anyway. Of several nodes behind one URL, one may be behind and not have the block of an approval
 * that another has, so it asks again. Throws QuoteDeclined.
 */
async function requireNothingWaits({ io, polling }: Context, wallet: string): Promise<void> {
  for (let look = 1; ; look += 1) {
    const pending = await nonceOf(io, wallet);
    if ((await nonceOf(io, wallet, "latest")) >= pending) return;
    if (look === BACKENDS)
      throw new QuoteDeclined(
        `your own node has a public transaction of the wallet with nonce ${pending - 1} that no block has yet;` +
          " it may be this approval, sent before: wait until it is decided",
      );
    await io.sleep(polling.nodeIntervalS);
  }
}

/**
 * Approve `router` if its allowance is too low; return the mined approvals. Some tokens (USDT)
 * refuse to change an allowance that is not zero: then it is first reset to zero. Throws NodeRpcError
 * when the approval itself reverts, and QuoteDeclined if the gas of one may cost more than maxFeeWei or
 * if a public transaction of the wallet waits for a block.
 */
export async function approve(
  context: Context,
  request: SwapTerms,
  router: string,
  signer: Signer,
  watch: (event: { approvalSent: ApprovalSent } | { approved: Approved }) => void,
): Promise<Approved[]> {
  const { sellToken: token, wallet } = request;
  const now = { ...context, io: oneMoment(context.io) };
  await readAhead(now.io, [
    CHAIN_ID,
    nonceCall(wallet),
    nonceCall(wallet, "latest"),
    ...costReads(request, router),
    viewCall(token, allowanceData(wallet, router)), // after the nonces: no approval is missed
  ]);
  await requireNothingWaits(now, wallet);
  const allowed = await allowanceOf(now.io, token, wallet, router); // an earlier try's may have been mined since
  if (allowed >= approvalAmount(request)) return [];
  const approvals: Approved[] = [];
  let leastNonce = 0;
  for (const amount of await approvalAmounts(now.io, request, router, allowed)) {
    const sent = (txHash: string, nonce: number) => {
      leastNonce = nonce + 1;
      watch({ approvalSent: { token, router, amount, txHash, nonce } });
    };
    const after = { since: newestBlock(approvals), leastNonce };
    const receipt = await sendApproval(now, request, approvalData(router, amount), signer, sent, after);
    const approved = { token, router, amount, receipt };
    approvals.push(approved);
    watch({ approved });
  }
  return approvals;
}

/**
 * Send an approval through the caller's own node and wait until it is mined. It is public in the
 * mempool, so never send a swap this way. The same bytes are sent again if no answer arrives: they can
 * be only one transaction. What the wallet sent just before is in block `since` and used the nonce below
 * `leastNonce`.
 */
async function sendApproval(
  context: Context,
  { sellToken: token, wallet, maxFeeWei }: SwapTerms,
  data: string,
  signer: Signer,
  sent: (txHash: string, nonce: number) => void,
  { since, leastNonce }: { since: number; leastNonce: number },
): Promise<Receipt> {
  const { io } = context;
  const estimate: RpcCall = ["eth_estimateGas", [{ from: wallet, to: token, data }, blockName(since)]];
  await readAhead(io, [CHAIN_ID, nonceCall(wallet), TIP, LATEST, estimate]);
  await requireMainnet(io);
  const gas = await gasOf(io, ...estimate);
  const nonce = Math.max(await nonceOf(io, wallet), leastNonce);
  const maxPriorityFeePerGas = quantity(await rpc(io, ...TIP));
  const transaction: Transaction = {
    type: "eip1559",
    chainId: 1,
    to: token as Hex,
    data: data as Hex,
    value: 0n,
    gas,
    maxFeePerGas: 2n * (await baseFee(io)) + maxPriorityFeePerGas,
    maxPriorityFeePerGas,
    nonce,
  };
  requireCost(transaction.gas * transaction.maxFeePerGas, maxFeeWei, "the gas of the approval");
  const signed = await sign(transaction, signer, wallet);
  const made: Submitted = { what: "the approval", txHash: hashOf(signed), wallet, nonce };
  try {
    await retryTransient(context, async (attempt) => {
      try {
        await rpc(io, SEND, [signed]);
      } catch (error) {
        const isHeld = error instanceof NodeRpcError && HELD.test(error.message.toLowerCase());
        if (attempt === 1 || !isHeld) throw error;
      }
    });
  } catch (error) {
    throw error instanceof NodeRpcError ? error : undecided(error, made);
  }
  sent(made.txHash, nonce);
  return minedReceipt(context, made);
}

/** The error for an approval that was sent and may still be mined. */
const undecided = (error: unknown, made: Submitted): unknown =>
  error instanceof ClientError ? errorFor("open", error.message, made, error) : error;
