// Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with ethers.
import { Contract, JsonRpcProvider, Wallet, parseEther } from "ethers";

const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const ERC20 = [
  "function allowance(address owner, address spender) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
];
const { QUIETSWAP_URL, QUIETSWAP_API_KEY, QUIETSWAP_RPC_URL, QUIETSWAP_PRIVATE_KEY } = process.env;
const poll = 1000 * Number(process.env.QUIETSWAP_POLL ?? 10);

const provider = new JsonRpcProvider(QUIETSWAP_RPC_URL, 1, {
  staticNetwork: true, pollingInterval: poll, cacheTimeout: -1,
});
const wallet = new Wallet(QUIETSWAP_PRIVATE_KEY, provider);

async function ask(method, path, body) {
  const headers = { "X-API-Key": QUIETSWAP_API_KEY };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`${QUIETSWAP_URL}/api/v1${path}`, {
    method, headers, body: body && JSON.stringify(body),
  });
  const { ok, data, error, message } = await answer.json();
  if (!ok) throw new Error(`${error}: ${message}`);
  return data;
}

// transactionParams are spelled as ethers spells them: sign them as they came
const signed = (params) => wallet.signTransaction(params);

async function mined(hash) {
  const receipt = await provider.waitForTransaction(hash, 1, 300_000);
  if (receipt?.status !== 1) throw new Error(`${hash} reverted`);
}

async function wrap(amount) {
  const { quote } = await ask("POST", "/mev/wrap/quote", {
    operation: "wrap", amount, userAddress: wallet.address,
  });
  const { transactionParams, providerMetadata } = quote.mevProtection;
  const nonce = await wallet.getNonce("pending");
  const { order } = await ask("POST", "/mev/wrap/order", {
    quoteId: quote.quoteId,
    operation: "wrap",
    signedTransaction: await signed({ ...transactionParams, nonce }),
    providerMetadata,
  });
  await mined(order.txHash);
  console.log("wrap confirmed", order.txHash);
}

const quoted = (amount) =>
  ask("GET", "/quote?" + new URLSearchParams({
    sellToken: WETH, buyToken: USDC, sellAmount: amount, userAddress: wallet.address,
    slippageBps: 50,
  }));

async function approve(router, amount) {
  const token = new Contract(WETH, ERC20, wallet);
  if ((await token.allowance(wallet.address, router)) >= amount) return;
  await mined((await token.approve(router, amount)).hash);
}

const orderParams = (quote) => ({
  fromToken: quote.sellToken,
  toToken: quote.buyToken,
  amount: quote.sellAmount,
  minReturnAmount: quote.minBuyAmount,
  userAddress: wallet.address,
  chainId: 1,
  deadline: Math.floor(Date.now() / 1000) + 1800,
  slippageBps: 50,
  selectedTier: 2,
  threatAnalysis: {
    threatScore: 50,
    threatLevel: quote.mevAnalysis.threatLevel,
    confidence: 1,
    riskFactors: [],
    estimatedSavings: {
      estimatedProtection: { amount: quote.mevAnalysis.estimatedProtectionUsd, currency: "USD" },
    },
    timestamp: Date.now(),
  },
  transactionValueUsd: quote.scoring.netValueUsd,
  dexRoute: { target: quote.dexRoute.target, data: quote.dexRoute.data },
});

async function followed(orderId) {
  for (const end = Date.now() + 300_000; Date.now() < end;) {
    const record = await ask("GET", `/mev/orders/${orderId}`);
    if (["confirmed", "failed", "cancelled"].includes(record.status)) return record;
    await new Promise((wake) => setTimeout(wake, poll));
  }
  throw new Error(`${orderId} is still open`);
}

// After an approval a fresh quote is asked for: the nonce has moved.
async function swap(amount) {
  await approve((await quoted(amount)).dexRoute.target, amount);
  const quote = await quoted(amount);
  const { transactionParams, providerMetadata } = quote.mevProtection;
  const { order } = await ask("POST", "/mev/orders", {
    orderParams: orderParams(quote),
    signedTransaction: await signed(transactionParams),
    providerMetadata,
  });
  const record = await followed(order.orderId);
  console.log("swap", record.status, record.txHash);
  if (record.status !== "confirmed") process.exit(1);
}

await wrap("0.2");
await swap(parseEther("0.1"));
provider.destroy();
