// Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with viem.
import { createPublicClient, createWalletClient, erc20Abi, http, keccak256, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { mainnet } from "viem/chains";
import * as quietswap from "./quietswap.ts";
import type { Hex, TransactionParams } from "./quietswap.ts";

const account = privateKeyToAccount(quietswap.setting("QUIETSWAP_PRIVATE_KEY") as Hex);
const transport = http(quietswap.setting("QUIETSWAP_RPC_URL"));
const chain = createPublicClient({
  chain: mainnet,
  transport,
  pollingInterval: quietswap.POLL_MS,
});
const wallet = createWalletClient({ account, chain: mainnet, transport });

// transactionParams, exactly as they came, in viem's spelling
const signed = (params: TransactionParams) =>
  account.signTransaction({
    to: params.to,
    data: params.data,
    value: BigInt(params.value),
    gas: BigInt(params.gasLimit),
    maxFeePerGas: BigInt(params.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(params.maxPriorityFeePerGas),
    nonce: params.nonce,
    chainId: params.chainId,
    type: "eip1559",
  });

async function mined(hash: Hex) {
  const receipt = await chain.waitForTransactionReceipt({ hash, timeout: 300_000 });
  if (receipt.status !== "success") throw new Error(`${hash} reverted`);
}

async function wrap(amount: string) {
  const quote = await quietswap.quoteWrap(account.address, amount);
  const nonce = await chain.getTransactionCount({ address: account.address, blockTag: "pending" });
  const params = { ...quietswap.checkedWrap(quote, parseEther(amount)), nonce };
  const bytes = await signed(params);
  await quietswap.submitWrap(quote, bytes);
  const hash = keccak256(bytes);
  await mined(hash);
  console.log("wrap confirmed", hash);
}

/** Approve the router where its allowance is short; false where it was not. */
async function approve(router: Hex, amount: bigint) {
  const token = { address: quietswap.WETH, abi: erc20Abi } as const;
  const allowance = await chain.readContract({
    ...token,
    functionName: "allowance",
    args: [account.address, router],
  });
  if (allowance >= amount) return false;
  const hash = await wallet.writeContract({
    ...token,
    functionName: "approve",
    args: [router, amount],
  });
  await mined(hash);
  return true;
}

// Each fresh quote may name another router, and an approval moves the nonce.
async function swap(amount: bigint) {
  let quote = await quietswap.quoteSwap(account.address, amount);
  while (await approve(quote.dexRoute.target, amount))
    quote = await quietswap.quoteSwap(account.address, amount);
  const bytes = await signed(quietswap.checkedSwap(quote, amount));
  const order = await quietswap.followed(
    await quietswap.submitSwap(quote, account.address, bytes),
  );
  console.log("swap", order.status, keccak256(bytes));
  if (order.status === "confirmed") await mined(keccak256(bytes));
  else process.exitCode = 1;
}

await wrap("0.2");
await swap(parseEther("0.1"));
