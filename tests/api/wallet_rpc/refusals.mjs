// What ethers makes of a refused transaction: its code, and the reason that can be shown.
import { JsonRpcProvider, Network } from "ethers";

const why = (error) => error.error?.message ?? error.info?.error?.message ?? error.shortMessage;

const mainnet = Network.from(1);
const provider = new JsonRpcProvider(process.env.WALLET_RPC_URL, mainnet, { staticNetwork: mainnet });
try {
  await provider.send("eth_sendRawTransaction", ["0x02"]);
} catch (error) {
  console.log(JSON.stringify({ code: error.code, why: why(error) }));
}
provider.destroy();
