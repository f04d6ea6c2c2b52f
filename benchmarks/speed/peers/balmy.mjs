// Quotes through @balmy/sdk, from the same local upstreams the service asks.
//
// The first line of standard input says where everything is; each further line, {clients, count,
// estimate}, is a load, answered by one line as `benchmarks.speed.load` prints it, and `cpu_s`. The
// process stays between loads, as the service does. A quote is good when every source below
// delivered a transaction to sign and, if `estimate`, the node could estimate its gas.

import { createInterface } from "node:readline";
import { buildSDK } from "@balmy/sdk";

const CHAIN = 1;
const SOURCES = ["kyberswap", "paraswap", "open-ocean"];
const ETH = "0x0000000000000000000000000000000000000000";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const place = JSON.parse((await lines.next()).value);

// The library offers another fetch, but no other hosts. Its answers of OpenOcean's version 3 are
// those of version 4 in all it reads.
const ROUTES = [
  ["https://aggregator-api.kyberswap.com", `${place.upstreams}/kyberswap`],
  ["https://api.paraswap.io", `${place.upstreams}/velora`],
  ["https://open-api.openocean.finance/v3/eth/swap_quote", `${place.upstreams}/openocean/v4/1/swap`],
];

function elsewhere(url, init) {
  if (url.startsWith("https://coins.llama.fi")) return prices(new URL(url).pathname);
  const route = ROUTES.find(([host]) => url.startsWith(host));
  if (!route) throw new Error(`nothing local answers ${url}`);
  return fetch(route[1] + url.slice(route[0].length), init);
}

async function prices(path) {
  // the sandbox's feed knows ETH by its name only
  const asked = path.replace(`ethereum:${ETH}`, "coingecko:ethereum");
  const { coins } = await (await fetch(place.prices + asked)).json();
  return Response.json({ coins: { ...coins, [`ethereum:${ETH}`]: coins["coingecko:ethereum"] } });
}

// Everything it can keep is kept as long as the service keeps it; it offers a cache for each.
function kept(underlyingSource, ifUnder) {
  const lasts = ifUnder ? { ifUnder } : "always";
  const expiration = { useCachedValue: lasts, useCachedValueIfCalculationFailed: lasts };
  return { type: "cached", underlyingSource, config: { expiration, maxSize: 100 } };
}

const sdk = buildSDK({
  fetch: { fetch: elsewhere },
  provider: {
    source: { type: "http", url: place.node, supportedChains: [CHAIN], config: { batch: true } },
  },
  metadata: { source: kept({ type: "rpc-multicall" }) },
  price: { source: kept({ type: "defi-llama" }, "20s") },
  // a cache that is not inside another source is passed over
  gas: { source: { type: "prioritized", sources: [kept({ type: "rpc" }, "900ms")] } },
});

async function quote(takerAddress, estimate) {
  const quotes = await sdk.quoteService.getAllQuotesWithTxs({
    request: {
      chainId: CHAIN,
      sellToken: place.sell,
      buyToken: place.buy,
      order: { type: "sell", sellAmount: place.amount },
      slippagePercentage: place.slippage,
      takerAddress,
      filters: { includeSources: SOURCES },
    },
    config: {
      ignoredFailed: false,
      sort: { by: "most-swapped-accounting-for-gas", using: "sell/buy amounts" },
    },
  });
  const bad = quotes.find((one) => one.failed || !isWhole(one, takerAddress));
  if (bad || quotes.length !== SOURCES.length) {
    throw new Error(`${bad?.source.id}: ${bad?.error ?? "not a whole quote"}`);
  }
  if (estimate) {
    await Promise.all(quotes.map(({ tx }) => sdk.gasService.estimateGas({ chainId: CHAIN, tx })));
  }
}

function isWhole({ tx, gas, buyToken, minBuyAmount }, wallet) {
  const hasTransaction = tx.to && tx.data.length > 10 && tx.from === wallet;
  return hasTransaction && minBuyAmount.amount > 0 && gas.estimatedCostInUSD && buyToken.price;
}

async function load({ clients, count, estimate }) {
  const told = { ms: [], statuses: {}, last: "" };
  let left = count;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const began = performance.now();
      const status = await quote(place.wallets[left % place.wallets.length], estimate).then(
        () => "good",
        (error) => ((told.last = String(error)), "bad"),
      );
      told.ms.push(performance.now() - began);
      told.statuses[status] = (told.statuses[status] ?? 0) + 1;
    }
  };
  const cpu = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  told.seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { ...told, cpu_s: (user + system) / 1e6 };
}

for await (const line of lines) console.log(JSON.stringify(await load(JSON.parse(line))));
