/** Approvals, sent through the caller's own node, and what they must not endanger. */
import { NodeRpcError } from "./errors.js";
import { QuoteDeclined } from "./flow-errors.js";
import {
  UINT256_MAX,
  allowanceOf,
  answered,
  approvalData,
  baseFee,
  estimateGas,
  nonceOf,
  requireMainnet,
  type Receipt,
} from "./node.js";
import { retryTransient, waitForReceipt, type Context } from "./polling.js";
import { OPEN, history, quantity } from "./reading.js";
import { hashOf, sign, type Signer } from "./signing.js";
import { rpc, segment, send, type Call } from "./transport.js";
import type { Hex, OrderHistory } from "./types.js";

/** Node errors for bytes that it already has; then the receipt decides. */
const HELD = /already known|already imported|nonce too low/;

/** One approval that was mined; `amount` in smallest units (0 for a reset). */
export interface Approved {
  readonly token: string;
  readonly router: string;
  readonly amount: bigint;
  readonly receipt: Receipt;
}

export interface ApprovalTerms {
  readonly token: string;
  readonly router: string;
  readonly amount: bigint;
  readonly wallet: string;
  readonly approval: "exact" | "max" | "never";
}

export const historyCall = (wallet: string, query: Record<string, string | undefined>): Call<OrderHistory> => ({
  path: `/mev/orders/user/${segment(wallet)}`,
  query,
  read: history,
});

/**
 * Refuse `what` while an order is open, because it would use that order's nonce. No node counts
 * private orders, so only the service's history shows them. Throws QuoteDeclined.
 */
export async function requireNoOpenOrder(context: Context, wallet: string, what: string): Promise<void> {
  for (const status of OPEN) {
    const call = historyCall(wallet, { limit: "1", offset: "0", status });
    const { orders } = await retryTransient(context, () => send(context.io, call));
    const found = orders.find((item) => OPEN.includes(item.status));
    if (found)
      throw new QuoteDeclined(
        `order ${found.orderId} is open, and ${what} would take its nonce and cancel it: wait until it` +
          " is decided, or give replace",
      );
  }
}

/**
 * Approve `router` if its allowance is below `amount`; return the mined approvals. Some tokens (USDT)
 * refuse to change an allowance that is not zero: then it is first reset to zero. Throws NodeRpcError
 * when the approval itself reverts.
 */
export async function ensureAllowance(context: Context, terms: ApprovalTerms, signer: Signer): Promise<Approved[]> {
  const { token, router, amount, wallet, approval } = terms;
  const current = await allowanceOf(context.io, token, wallet, router);
  if (current >= amount || approval === "never") return [];
  const wanted = approval === "max" ? UINT256_MAX : amount;
  const change = { from: wallet, to: token, data: approvalData(router, wanted) };
  const needsReset = current > 0n && (await answered(estimateGas(context.io, change))) === undefined;
  const sent: Approved[] = [];
  for (const each of needsReset ? [0n, wanted] : [wanted]) {
    const call = { to: token, data: approvalData(router, each), wallet };
    const receipt = await sendPublic(context, "the approval", call, signer);
    sent.push({ token, router, amount: each, receipt });
  }
  return sent;
}

/**
 * Send an ordinary transaction through the caller's own node and wait until it is mined. It is public
 * in the mempool, so never send a swap this way. The same bytes are sent again if no answer arrives:
 * they can be only one transaction.
 */
async function sendPublic(
  context: Context,
  what: string,
  call: { to: string; data: string; wallet: string },
  signer: Signer,
): Promise<Receipt> {
  const { io } = context;
  const { to, data, wallet } = call;
  await requireMainnet(io);
  const gas = ((await estimateGas(io, { from: wallet, to, data })) * 5n) / 4n;
  const nonce = await nonceOf(io, wallet);
  const maxPriorityFeePerGas = quantity(await rpc(io, "eth_maxPriorityFeePerGas", []));
  const maxFeePerGas = 2n * (await baseFee(io)) + maxPriorityFeePerGas;
  const fees = { gas, maxFeePerGas, maxPriorityFeePerGas, nonce };
  const plain = { type: "eip1559", chainId: 1, to: to as Hex, data: data as Hex, value: 0n } as const;
  const signed = await sign({ ...plain, ...fees }, signer, wallet);
  await retryTransient(context, async (attempt) => {
    try {
      await rpc(io, "eth_sendRawTransaction", [signed]);
    } catch (error) {
      const isHeld = error instanceof NodeRpcError && HELD.test(error.message.toLowerCase());
      if (attempt === 1 || !isHeld) throw error;
    }
  });
  return waitForReceipt(context, { what, txHash: hashOf(signed), wallet, nonce });
}
