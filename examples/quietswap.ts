// The part of the API that both TypeScript examples share: what goes over the wire, one request,
// the body of an order, and waiting for it. Needs nothing but fetch.

// An error ends the program with its message alone.
process.on("uncaughtException", ({ message, cause }) => {
  console.error(cause instanceof Error ? `${message}: ${cause.message}` : message);
  process.exit(1);
});

export const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
export const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const SLIPPAGE_BPS = 50;

export type Hex = `0x${string}`;

/** What to sign, unchanged. Amounts are decimal strings in smallest units. */
export interface TransactionParams<Nonce = number> {
  to: Hex;
  data: Hex;
  value: string;
  gasLimit: string;
  maxFeePerGas: string;
  maxPriorityFeePerGas: string;
  nonce: Nonce;
  chainId: number;
  type: number;
}

/** `providerMetadata` goes back with the order as it came. */
interface Protection<Nonce> {
  transactionParams: TransactionParams<Nonce>;
  providerMetadata: { tier: number };
}

export interface SwapQuote {
  sellToken: Hex;
  buyToken: Hex;
  sellAmount: string;
  buyAmount: string;
  minBuyAmount: string;
  dexRoute: { target: Hex; data: Hex };
  scoring: { netValueUsd: number };
  mevAnalysis: { threatLevel: "LOW" | "MEDIUM" | "HIGH"; estimatedProtectionUsd: number };
  mevProtection: Protection<number>;
}

/** The nonce of a wrap is null: the wallet sets its next one. */
export interface WrapQuote {
  quoteId: string;
  mevProtection: Protection<null>;
}

export interface OrderStatus {
  orderId: string;
  status: "pending" | "submitted" | "mining" | "confirmed" | "failed" | "cancelled";
  txHash?: Hex;
}

type Answer<T> = { ok: true; data: T } | { ok: false; error: string; message: string };

/** Return an environment variable. Throws when it is not set. */
export function setting(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise;
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

export const POLL_MS = 1000 * Number(setting("POLL_SECONDS", "10"));
if (!(POLL_MS > 0 && POLL_MS <= 3_600_000))
  throw new Error("POLL_SECONDS must be seconds above 0, at most 3600");

/** Return `data` of the service's answer. Throws the error's code and message. */
async function ask<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const headers: Record<string, string> = { "X-API-Key": setting("QUIETSWAP_API_KEY") };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`${setting("QUIETSWAP_URL")}/api/v1${path}`, {
    method,
    headers,
    body: body ? JSON.stringify(body) : null,
  });
  const envelope = (await answer.json()) as Answer<T>;
  if (!envelope.ok) throw new Error(`${envelope.error}: ${envelope.message}`);
  return envelope.data;
}

export function quoteSwap(wallet: Hex, sellAmount: bigint): Promise<SwapQuote> {
  const query = new URLSearchParams({
    sellToken: WETH,
    buyToken: USDC,
    sellAmount: String(sellAmount),
    userAddress: wallet,
    slippageBps: String(SLIPPAGE_BPS),
  });
  return ask("GET", `/quote?${query}`);
}

/** Hand in a signed swap and return its order id. */
export async function submitSwap(quote: SwapQuote, wallet: Hex, signed: string): Promise<string> {
  const { providerMetadata } = quote.mevProtection;
  const now = Date.now();
  const orderParams = {
    fromToken: quote.sellToken,
    toToken: quote.buyToken,
    amount: quote.sellAmount,
    minReturnAmount: quote.minBuyAmount,
    userAddress: wallet,
    chainId: 1,
    deadline: Math.floor(now / 1000) + 1800,
    slippageBps: SLIPPAGE_BPS,
    selectedTier: providerMetadata.tier,
    threatAnalysis: {
      threatScore: 50,
      threatLevel: quote.mevAnalysis.threatLevel,
      confidence: 1,
      riskFactors: [],
      estimatedSavings: {
        estimatedProtection: { amount: quote.mevAnalysis.estimatedProtectionUsd, currency: "USD" },
      },
      timestamp: now,
    },
    transactionValueUsd: quote.scoring.netValueUsd,
    dexRoute: { target: quote.dexRoute.target, data: quote.dexRoute.data },
  };
  const body = { orderParams, signedTransaction: signed, providerMetadata };
  const { order } = await ask<{ order: { orderId: string } }>("POST", "/mev/orders", body);
  return order.orderId;
}

export async function quoteWrap(wallet: Hex, amount: string): Promise<WrapQuote> {
  const body = { operation: "wrap", amount, userAddress: wallet };
  return (await ask<{ quote: WrapQuote }>("POST", "/mev/wrap/quote", body)).quote;
}

/** Hand in a signed wrap and return its transaction hash. */
export async function submitWrap(quote: WrapQuote, signed: string): Promise<Hex> {
  const { quoteId, mevProtection } = quote;
  const { order } = await ask<{ order: { txHash: Hex } }>("POST", "/mev/wrap/order", {
    quoteId,
    operation: "wrap",
    signedTransaction: signed,
    providerMetadata: mevProtection.providerMetadata,
  });
  return order.txHash;
}

/** Poll an order until it is decided, for five minutes at most. */
export async function followed(orderId: string): Promise<OrderStatus> {
  for (const end = Date.now() + 300_000; Date.now() < end; ) {
    const record = await ask<OrderStatus>("GET", `/mev/orders/${orderId}`);
    if (["confirmed", "failed", "cancelled"].includes(record.status)) return record;
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
  throw new Error(`${orderId} is still open`);
}
