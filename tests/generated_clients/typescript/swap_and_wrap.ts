// Swap 0.1 WETH for USDC, wrap 0.2 ETH and read an error, with a generated client.
// Prints one JSON object with what the service answered.
import { setTimeout } from "node:timers/promises";
import { POLL_MS, USDC, WETH, api, approved, mined, success, wallet } from "./service.ts";
import type { components } from "./quietswap.d.ts";

type SwapQuote = components["schemas"]["SwapQuoteResponse"];
type OrderStatus = components["schemas"]["OrderStatusResponse"];

const SLIPPAGE_BPS = 50;
const TERMINAL: OrderStatus["status"][] = ["confirmed", "failed", "cancelled"];
const userAddress = wallet.address;

async function quoteSwap(sellAmount: bigint): Promise<SwapQuote> {
  const query = {
    sellToken: WETH,
    buyToken: USDC,
    sellAmount: String(sellAmount),
    userAddress,
    slippageBps: SLIPPAGE_BPS,
  };
  return success(await api.GET("/api/v1/quote", { params: { query } })).data;
}

/** Sign the quote's transaction unchanged and return the order's id. */
async function submitSwap(quote: SwapQuote): Promise<string> {
  const { transactionParams, providerMetadata } = quote.mevProtection;
  const { mevAnalysis, dexRoute } = quote;
  const amount = mevAnalysis.estimatedProtectionUsd;
  const body: components["schemas"]["SwapOrderBody"] = {
    orderParams: {
      fromToken: quote.sellToken,
      toToken: quote.buyToken,
      amount: quote.sellAmount,
      minReturnAmount: quote.minBuyAmount,
      userAddress,
      chainId: transactionParams.chainId,
      deadline: Math.floor(Date.now() / 1000) + 1800,
      slippageBps: SLIPPAGE_BPS,
      selectedTier: providerMetadata.tier,
      threatAnalysis: {
        threatScore: 50,
        threatLevel: mevAnalysis.threatLevel,
        confidence: 1,
        riskFactors: [],
        estimatedSavings: { estimatedProtection: { amount, currency: "USD" } },
        timestamp: Date.now(),
      },
      transactionValueUsd: quote.scoring.netValueUsd,
      dexRoute: { target: dexRoute.target, data: dexRoute.data, source: quote.source },
    },
    signedTransaction: await wallet.signTransaction(transactionParams),
    providerMetadata,
  };
  return success(await api.POST("/api/v1/mev/orders", { body })).data.order.orderId;
}

/** Poll an order until its status is final. */
async function followOrder(orderId: string): Promise<OrderStatus> {
  for (const end = Date.now() + 300_000; Date.now() < end; await setTimeout(POLL_MS)) {
    const options = { params: { path: { orderId } } };
    const { data } = success(await api.GET("/api/v1/mev/orders/{orderId}", options));
    if (TERMINAL.includes(data.status)) return data;
  }
  throw new Error(`${orderId} is still open`);
}

/** Swap, and return the final status. An approval changes the nonce: the quote is requested again. */
async function swap(sellAmount: bigint): Promise<OrderStatus> {
  let quote = await quoteSwap(sellAmount);
  while (await approved(quote.dexRoute.target, sellAmount)) quote = await quoteSwap(sellAmount);
  return followOrder(await submitSwap(quote));
}

async function history(limit: number) {
  const options = { params: { path: { userAddress }, query: { limit } } };
  return success(await api.GET("/api/v1/mev/orders/user/{userAddress}", options)).data;
}

/** Wrap ETH and return the transaction hash. The client sets the nonce. */
async function wrap(amount: string): Promise<string> {
  const operation = "wrap";
  const request = { body: { operation, amount, userAddress } } as const;
  const { quote } = success(await api.POST("/api/v1/mev/wrap/quote", request)).data;
  const { transactionParams, providerMetadata } = quote.mevProtection;
  const nonce = await wallet.getNonce("pending");
  const signedTransaction = await wallet.signTransaction({ ...transactionParams, nonce });
  const body = { operation, signedTransaction, providerMetadata, quoteId: quote.quoteId } as const;
  const { order } = success(await api.POST("/api/v1/mev/wrap/order", { body })).data;
  await mined(order.txHash);
  return order.txHash;
}

/** Return what the service reports about an amount that it must reject. */
async function invalidAmount(sellAmount: string) {
  const query = { sellToken: WETH, buyToken: USDC, sellAmount, userAddress };
  const { error } = await api.GET("/api/v1/quote", { params: { query } });
  if (error?.error !== "INVALID_AMOUNT") throw new Error(`unexpected: ${JSON.stringify(error)}`);
  return { code: error.error, provided: error.details.provided, field: error.details.field };
}

const order = await swap(10n ** 17n);
const { total, orders } = await history(1);
const wrapped = await wrap("0.2");
console.log(
  JSON.stringify({
    order: { id: order.orderId, status: order.status, txHash: order.txHash },
    history: { total, newest: orders[0]?.orderId },
    wrap: wrapped,
    error: await invalidAmount("0"),
  }),
);
