// Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with this project's client: it checks each quote, approves
// exactly, simulates at your own node, and believes only that node. In a project of yours, import
// from "quietswap".
import { parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { QuietswapClient, WETH } from "../clients/typescript/src/index.ts";

// An error ends the program with its message alone.
process.on("uncaughtException", ({ message, cause }) => {
  console.error(cause instanceof Error ? `${message}: ${cause.message}` : message);
  process.exit(1);
});

const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";

/** Return an environment variable. Ends the program when it is not set. */
function setting(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise;
  if (value) return value;
  console.error(`${name} is not set`);
  process.exit(2);
}

const seconds = Number(setting("POLL_SECONDS", "10"));
const account = privateKeyToAccount(setting("QUIETSWAP_PRIVATE_KEY") as `0x${string}`);
const client = new QuietswapClient({
  url: setting("QUIETSWAP_URL"),
  apiKey: setting("QUIETSWAP_API_KEY"),
  rpcUrl: setting("QUIETSWAP_RPC_URL"),
  polling: { intervalS: seconds, nodeIntervalS: Math.min(seconds, 2) },
});

const wrapped = await client.wrap("0.2", account);
console.log("wrap confirmed", wrapped.order.txHash);

const request = { sellToken: WETH, buyToken: USDC, sellAmount: parseEther("0.1"), maxImpactPercent: 3 };
const result = await client.swap(request, account);
console.log("swap", result.status.status, result.status.txHash, "received", result.received);
if (!result.succeeded) process.exitCode = 1;
