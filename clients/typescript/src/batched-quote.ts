/** The batched form of a quote, and whether the wallet can use it. */
import { checkBatch, withParams } from "./batch.js";
import { QuoteDeclined, UnsafeQuote } from "./flow-errors.js";
import { masked } from "./foreign-text.js";
import { DELEGATES } from "./generated/rules.js";
import { codeCall, nonceOf, requireEth } from "./node.js";
import type { Context } from "./polling.js";
import type { SwapTerms } from "./quote-checks.js";
import { checkFee, settlersFor } from "./quoting.js";
import { textOf } from "./reading.js";
import { rpc } from "./transport.js";
import type { SwapQuote } from "./types.js";

/** Before the address of the delegate, in the code of a wallet that delegates (EIP-7702). */
const DELEGATION = "0xef0100";

/** Why a wallet with this code cannot use the batched form; undefined if it can. */
function refusedCode(code: string): string | undefined {
  const delegate = `0x${code.slice(DELEGATION.length)}`.toLowerCase();
  if (!code.toLowerCase().startsWith(DELEGATION) || delegate.length !== 42)
    return "the wallet is not delegated (EIP-7702), so it cannot call itself";
  if (DELEGATES.some((each) => each === delegate)) return undefined;
  return `the wallet's code is that of ${delegate}, which was not read: it might do anything beside the calls`;
}

/** Why a router with this allowance cannot be approved in a batch: some tokens (USDT) change only one of 0. */
const refusedAllowance = (allowance: bigint): string | undefined =>
  allowance
    ? `the router's allowance is ${allowance}, and some tokens refuse to change one that is not 0: use the plain form`
    : undefined;

/**
 * Return the quote with the transaction of its batched form, checked as the plain form was. `allowed` is what its
 * router may move already, in smallest units. Throws QuoteDeclined if the wallet cannot use it, and UnsafeQuote.
 */
export async function batchedQuote(
  context: Context,
  quote: SwapQuote,
  request: SwapTerms,
  allowed: bigint,
): Promise<SwapQuote> {
  const { io } = context;
  const { wallet, batchConversion } = request;
  const params = quote.batch?.transactionParams;
  const offered = params ? undefined : masked(quote.batch?.reason) || "the service offers none";
  const refused = refusedCode(textOf(await rpc(io, ...codeCall(wallet)))) ?? refusedAllowance(allowed) ?? offered;
  if (refused !== undefined || !params) {
    const eth = batchConversion ? `, with the ${batchConversion}` : "";
    throw new QuoteDeclined(`no approve and swap in one${eth}: ${refused}`, ": not signed");
  }
  if (params.nonce !== (await nonceOf(io, wallet, "latest")))
    throw new QuoteDeclined(
      "no approve and swap in one: an earlier transaction of the wallet is not mined yet, and could change its code" +
        " or allowance",
      ": not signed",
    );
  if (params.nonce !== quote.mevProtection.transactionParams.nonce)
    throw new UnsafeQuote("the two forms of the quote have different nonces");
  const form = withParams(quote, params);
  checkBatch(form, request, await settlersFor(context, quote));
  await checkFee(context, params);
  await requireEth(io, wallet, params, batchConversion === "wrap" ? BigInt(quote.sellAmount) : 0n);
  return form;
}
