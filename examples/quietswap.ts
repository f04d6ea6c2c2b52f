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
/** Most that the gas of one transaction may cost: 0.02 ETH. */
const MOST_FEE_WEI = 2n * 10n ** 16n;
/** Routers that may be approved and called, and their methods that enforce the minimum. */
const METHODS: Record<string, string[]> = {
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5": ["0xe21fd0e9"], // KyberSwap
  "0x6a000f20005980200259b80c5102003040001068": ["0xe3ead59e", "0xe8bb3b6c", "0x876a02f6", "0x1a01c532", "0xe37ed256"], // Velora
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75": ["0x5f3bd1c8"], // Sushi
  "0x0000000000001ff3684f28c67538d4d072c22734": ["0x2213bc0b"], // 0x
  "0x111111125421ca6dc452d289314280a0f8842a65": ["0x07ed2379", "0x83800a8e"], // 1inch
  "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45": ["0x5ae401dc"], // Uniswap
};

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

/** Refuse what was not asked for: the service may be hostile, or its answer changed. */
function check(params: TransactionParams<unknown>, to: string, value: bigint): void {
  const fee = BigInt(params.gasLimit) * BigInt(params.maxFeePerGas);
  const faults = {
    [`the receiver ${params.to}`]: params.to.toLowerCase() !== to.toLowerCase(),
    [`${params.value} wei of ETH`]: BigInt(params.value) !== value,
    "another chain or type": params.chainId !== 1 || params.type !== 2,
    [`gas for ${fee} wei`]: fee > MOST_FEE_WEI,
    "a priority fee": BigInt(params.maxPriorityFeePerGas) !== 0n,
  };
  const found = Object.entries(faults).flatMap(([name, isSo]) => (isSo ? [name] : []));
  if (found.length) throw new Error(`not signed: the transaction has ${found.join(", ")}`);
}

/** What to sign, if it is exactly the wrap of `wei`. */
export function checkedWrap(quote: WrapQuote, wei: bigint): TransactionParams<null> {
  const params = quote.mevProtection.transactionParams;
  check(params, WETH, wei);
  if (params.data !== "0xd0e30db0") throw new Error("not signed: another call than deposit()");
  return params;
}

/**
 * What to sign, if it is the swap, by a known router, without ETH. What the calldata does with the
 * amount sold is checked by this project's client alone, which decodes and simulates it. Here an exact
 * approval limits what can be lost to that amount.
 */
export function checkedSwap(quote: SwapQuote, sellAmount: bigint): TransactionParams {
  const params = quote.mevProtection.transactionParams;
  const { target } = quote.dexRoute;
  const method = params.data.slice(0, 10);
  if (quote.sellToken !== WETH || quote.buyToken !== USDC || quote.sellAmount !== `${sellAmount}`)
    throw new Error("not signed: the quote is for another swap");
  if (!METHODS[target.toLowerCase()]?.includes(method))
    throw new Error(`not signed: ${method} of ${target} is no known method of a router`);
  check(params, target, 0n);
  return params;
}

/** A quote that is checked: an approval is public, and comes before the signature. */
export async function quoteSwap(wallet: Hex, sellAmount: bigint): Promise<SwapQuote> {
  const query = new URLSearchParams({
    sellToken: WETH,
    buyToken: USDC,
    sellAmount: String(sellAmount),
    userAddress: wallet,
    slippageBps: String(SLIPPAGE_BPS),
  });
  const quote = await ask<SwapQuote>("GET", `/quote?${query}`);
  checkedSwap(quote, sellAmount);
  return quote;
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

/** Hand in a signed wrap. Its hash is that of the bytes: the service could name another one. */
export async function submitWrap(quote: WrapQuote, signed: string): Promise<void> {
  const { quoteId, mevProtection } = quote;
  await ask("POST", "/mev/wrap/order", {
    quoteId,
    operation: "wrap",
    signedTransaction: signed,
    providerMetadata: mevProtection.providerMetadata,
  });
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
