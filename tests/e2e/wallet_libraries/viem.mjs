// Approve and swap with viem: the RPC URL of a wallet is its only transport.
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { mainnet } from "viem/chains";
import { approvalOf, quoteFor } from "./quote.mjs";

const account = privateKeyToAccount(process.env.PRIVATE_KEY);
const transport = http(process.env.WALLET_RPC_URL);
const reader = createPublicClient({ chain: mainnet, transport, pollingInterval: 200 });
const wallet = createWalletClient({ account, chain: mainnet, transport });

async function sent(transaction) {
  const hash = await wallet.sendTransaction(transaction);
  const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 90_000 });
  return { hash, status: receipt.status === "success" ? 1 : 0 };
}

const approval = await sent(approvalOf(await quoteFor(account.address)));
const { to, data, value } = (await quoteFor(account.address)).mevProtection.transactionParams;
const swap = await sent({ to, data, value: BigInt(value) });
console.log(JSON.stringify({ approval, swap }));
