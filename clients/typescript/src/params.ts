/** Checks of a transaction to sign by its fields alone. The web page uses them, too: no viem here. */
import { ABSURD_FEE, CANCEL_GAS, GAS_LIMIT_CAP, LEAST_GAS, MOST_CANCEL_GAS, WETH, WRAP_SELECTORS } from "./generated/rules.js";
import type { TransactionParams, WrapOperation, WrapQuote } from "./types.js";

/** Return the names of the faults that are so. */
export const faultsOf = (faults: Record<string, boolean>) => Object.keys(faults).filter((name) => faults[name]);

/** Return the faults of a transaction's parameters, as text. */
export function checkParams(params: TransactionParams): string[] {
  return faultsOf({
    "a priority fee": BigInt(params.maxPriorityFeePerGas) !== 0n,
    "another chain or type": params.chainId !== 1 || params.type !== 2,
    "more gas than a transaction may have": BigInt(params.gasLimit) > GAS_LIMIT_CAP,
    "less gas than a transaction needs": BigInt(params.gasLimit) < LEAST_GAS,
    "an absurd fee cap": BigInt(params.maxFeePerGas) > ABSURD_FEE,
  });
}

/** Return what a cancel has that is not an empty transfer to the wallet itself, at the order's own nonce. */
export function cancelFaults(params: TransactionParams, wallet: string, nonce: number | undefined): string[] {
  const gas = BigInt(params.gasLimit);
  return faultsOf({
    "another receiver than the wallet itself": params.to.toLowerCase() !== wallet.toLowerCase(),
    calldata: params.data !== "0x",
    "ETH to be sent along": BigInt(params.value) !== 0n,
    [`a gas limit outside ${CANCEL_GAS} to ${MOST_CANCEL_GAS}`]: gas < CANCEL_GAS || gas > MOST_CANCEL_GAS,
    "no nonce": params.nonce === null,
    [`nonce ${params.nonce}, not ${nonce} as the order`]:
      nonce !== undefined && params.nonce !== null && params.nonce !== nonce,
  }).concat(checkParams(params));
}

/** Return why a quote is not exactly this conversion of `wei`. */
export function wrapFaults(quote: WrapQuote, operation: WrapOperation, wei: bigint): string[] {
  const params: TransactionParams = quote.mevProtection.transactionParams;
  const argument = operation === "wrap" ? "" : wei.toString(16).padStart(64, "0");
  return faultsOf({
    "another operation": quote.operation !== operation,
    "another amount": BigInt(quote.amountWei) !== wei,
    "another contract than WETH": params.to.toLowerCase() !== WETH.toLowerCase(),
    "another call": params.data.toLowerCase() !== WRAP_SELECTORS[operation] + argument,
    "another value": BigInt(params.value) !== (operation === "wrap" ? wei : 0n),
  }).concat(checkParams(params));
}
