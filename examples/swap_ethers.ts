// Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with ethers.
import { Contract, JsonRpcProvider, Wallet, keccak256, parseEther } from "ethers";
import * as quietswap from "./quietswap.ts";
import type { Hex, TransactionParams } from "./quietswap.ts";

const ERC20 = [
  "function allowance(address owner, address spender) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
];
const provider = new JsonRpcProvider(quietswap.setting("QUIETSWAP_RPC_URL"), 1, {
  staticNetwork: true,
  pollingInterval: quietswap.POLL_MS,
  cacheTimeout: -1,
});
const wallet = new Wallet(quietswap.setting("QUIETSWAP_PRIVATE_KEY"), provider);
const address = wallet.address as Hex;

// transactionParams are spelled as ethers spells them: sign them as they came
const signed = (params: TransactionParams) => wallet.signTransaction(params);

async function mined(hash: string) {
  const receipt = await provider.waitForTransaction(hash, 1, 300_000);
  if (receipt?.status !== 1) throw new Error(`${hash} reverted`);
}

async function wrap(amount: string) {
  const quote = await quietswap.quoteWrap(address, amount);
  const nonce = await wallet.getNonce("pending");
  const params = { ...quietswap.checkedWrap(quote, parseEther(amount)), nonce };
  const bytes = await signed(params);
  await quietswap.submitWrap(quote, bytes);
  const hash = keccak256(bytes);
  await mined(hash);
  console.log("wrap confirmed", hash);
}

/** Approve the router where its allowance is short; false where it was not. */
async function approve(router: Hex, amount: bigint) {
  const token = new Contract(quietswap.WETH, ERC20, wallet);
  const allowance: bigint = await token.getFunction("allowance")(address, router);
  if (allowance >= amount) return false;
  await mined((await token.getFunction("approve").send(router, amount)).hash);
  return true;
}

// Each fresh quote may name another router, and an approval moves the nonce.
async function swap(amount: bigint) {
  let quote = await quietswap.quoteSwap(address, amount);
  while (await approve(quote.dexRoute.target, amount))
    quote = await quietswap.quoteSwap(address, amount);
  const bytes = await signed(quietswap.checkedSwap(quote, amount));
  const order = await quietswap.followed(await quietswap.submitSwap(quote, address, bytes));
  console.log("swap", order.status, keccak256(bytes));
  if (order.status === "confirmed") await mined(keccak256(bytes));
  else process.exitCode = 1;
}

await wrap("0.2");
await swap(parseEther("0.1"));
provider.destroy();
