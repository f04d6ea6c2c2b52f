// The typed client of the service, and the wallet at the caller's own node.
import createClient from "openapi-fetch";
import { Interface, JsonRpcProvider, Wallet } from "ethers";
import type { paths } from "./quietswap.d.ts";

export const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
export const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const ERC20 = new Interface([
  "function allowance(address owner, address spender) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
]);

/** Return an environment variable. Throws if it is not set. */
function setting(name: string, fallback?: string): string {
  const value = process.env[name] ?? fallback;
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

export const POLL_MS = 1000 * Number(setting("POLL_SECONDS", "10"));

export const api = createClient<paths>({
  baseUrl: setting("QUIETSWAP_URL"),
  headers: { "X-API-Key": setting("QUIETSWAP_API_KEY") },
});

const node = new JsonRpcProvider(setting("QUIETSWAP_RPC_URL"), 1, {
  staticNetwork: true,
  pollingInterval: POLL_MS,
  cacheTimeout: -1,
});
export const wallet = new Wallet(setting("QUIETSWAP_PRIVATE_KEY"), node);

/** Return the JSON of a successful answer. Throws the error of an error answer. */
export function success<T>(answer: { data?: T; error?: unknown }): NonNullable<T> {
  if (!answer.data) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

/** Wait for the receipt. Throws if the transaction reverted. */
export async function mined(hash: string): Promise<void> {
  const receipt = await node.waitForTransaction(hash, 1, 300_000);
  if (receipt?.status !== 1) throw new Error(`${hash} reverted`);
}

/** Approve WETH for the router if its allowance is too small. Return true if that was necessary. */
export async function approved(router: string, amount: bigint): Promise<boolean> {
  const call = ERC20.encodeFunctionData("allowance", [wallet.address, router]);
  if (BigInt(await node.call({ to: WETH, data: call })) >= amount) return false;
  const data = ERC20.encodeFunctionData("approve", [router, amount]);
  await mined((await wallet.sendTransaction({ to: WETH, data })).hash);
  return true;
}
