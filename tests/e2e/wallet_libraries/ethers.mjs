// Approve and swap with ethers: the RPC URL of a wallet is its only provider.
import { JsonRpcProvider, Wallet } from "ethers";
import { approvalOf, quoteFor } from "./quote.mjs";

// cacheTimeout: else the nonce read before the approval answers for the swap too, for 250 ms
const provider = new JsonRpcProvider(process.env.WALLET_RPC_URL, undefined, {
  pollingInterval: 200,
  cacheTimeout: -1,
});
const wallet = new Wallet(process.env.PRIVATE_KEY, provider);

async function sent(transaction) {
  const response = await wallet.sendTransaction(transaction);
  const receipt = await response.wait(1, 90_000);
  return { hash: response.hash, status: receipt.status };
}

const approval = await sent(approvalOf(await quoteFor(wallet.address)));
const { to, data, value } = (await quoteFor(wallet.address)).mevProtection.transactionParams;
const swap = await sent({ to, data, value: BigInt(value) });
provider.destroy();
console.log(JSON.stringify({ approval, swap }));
