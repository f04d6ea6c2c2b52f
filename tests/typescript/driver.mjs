// Runs the TypeScript client for the tests: one JSON command a line in, one JSON outcome a line out.
// Pauses are counted, not slept, unless a command asks for the real clock.
import { createInterface } from "node:readline";
import { privateKeyToAccount } from "viem/accounts";
import * as quietswap from "./built/index.js";
import { decode } from "./built/calldata.js";
import { checkBatch } from "./built/batch.js";
import { checkedRequest } from "./built/quote-checks.js";
import { sign } from "./built/signing.js";
import { simulateSwap } from "./built/simulation.js";
import { quantity } from "./built/reading.js";
import { rpc, send, transportOf } from "./built/transport.js";

const HEX_AMOUNT = /^n:(-?\d+)$/;
const revive = (_, value) =>
  typeof value === "string" && HEX_AMOUNT.test(value) ? BigInt(value.slice(2)) : value;
const plain = (_, value) => (typeof value === "bigint" ? `n:${value}` : value);

/** A signer of the kind that the command describes. */
function signerOf({ key, change, returns, provider, never }) {
  if (never) return () => Promise.reject(new Error("asked to sign"));
  if (returns !== undefined) return () => returns;
  const account = privateKeyToAccount(key);
  if (provider) {
    const wallet = {
      request: async ({ method, params: [tx] }) => {
        if (method !== "eth_signTransaction") throw Object.assign(new Error("no"), { code: 4200 });
        const { from, gas, ...rest } = tx;
        if (from !== account.address) throw new Error(`another wallet: ${from}`);
        const big = Object.fromEntries(
          ["value", "maxFeePerGas", "maxPriorityFeePerGas"].map((name) => [name, BigInt(rest[name])]),
        );
        const numbers = { nonce: Number(rest.nonce), chainId: 1, type: "eip1559", gas: BigInt(gas) };
        return { raw: await account.signTransaction({ ...rest, ...big, ...numbers }) };
      },
    };
    return quietswap.providerSigner(wallet, account.address.toLowerCase());
  }
  if (!change) return account;
  return (transaction) => account.signTransaction({ ...transaction, ...change });
}

/** Fields of an error that a caller may read. */
function told(error) {
  const fields = Object.fromEntries(Object.entries(error).filter(([, value]) => typeof value !== "function"));
  return { ...fields, name: error.name, message: error.message, cause: error.cause?.name ?? null };
}

/** The node at `url` as a wallet's provider, which answers `method` with 100,000 nested arrays. */
function nesting(url, method) {
  const deep = Array.from({ length: 100_000 }).reduce((inner) => [inner], []);
  return {
    request: async (call) => {
      if (call.method === method) return deep;
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...call });
      return (await (await fetch(url, { method: "POST", body })).json()).result;
    },
  };
}

async function run(command) {
  const { options, method, args = [], signer, realTime, accept, nested } = command;
  if (nested) options.rpcUrl = nesting(options.rpcUrl, nested);
  const pauses = [];
  const events = [];
  const clock = realTime
    ? {}
    : {
        sleep: async (seconds) => void pauses.push(seconds),
        seconds: () => 1000 + pauses.reduce((sum, each) => sum + each, 0),
      };
  const watch = (event) => {
    const [[kind, value]] = typeof event.orderId === "string" ? [["status", event]] : Object.entries(event);
    const name = kind === "tradeStep" ? `${value.step} ${value.state}` : kind;
    events.push(kind === "status" ? `status ${value.status}` : name);
    if (name === command.dies) throw new Error("killed");
  };
  const answers = ({ confirm, ...rest } = {}) =>
    confirm === undefined ? rest : { ...rest, confirm: (_, loss) => loss.bps > 0 && confirm };
  const given = args.map((each) => {
    if (!each || typeof each !== "object") return each;
    return accept === undefined ? answers(each) : { ...each, accept: () => accept };
  });
  if (signer) given.push(signerOf(signer));
  if (["swap", "resume", "plan", "cancel", "follow", "end"].includes(method)) given.push(watch);
  if (["wrap", "unwrap"].includes(method)) given.push({ ...answers(command.conditions), watch });
  let client;
  if (method === "streamQuote")
    given.push((route) => {
      events.push(route);
      if (command.stops) throw new Error("stopped");
      client.usage().catch(() => undefined); // tells the service that the route is here
    });
  let result;
  const orders = new Map(Object.entries(options.orders ?? {}));
  if (command.unwritable)
    orders.set = () => {
      throw new Error("no space left");
    };
  const recorded = () => {
    const [ofTrades, named] = [true, false].map((is) => [...orders].filter(([key]) => key.startsWith("0x") === is));
    return { orders: Object.fromEntries(ofTrades), named: Object.fromEntries(named) };
  };
  try {
    client = new quietswap.QuietswapClient({ ...options, orders, ...clock });
    result = await client[method](...given);
  } catch (error) {
    return { error: { ...told(error), pauses, events, ...recorded() } };
  }
  const getters = ["succeeded", "fellShort", "mayBeMined", "checked", "cancelled", "isFinal", "isContradicted", "confirmed", "ownRecord", "steps", "signatures", "maxGasCost", "wraps", "acceptedBps", "needsConsent"];
  const judged = Object.fromEntries(getters.filter((name) => name in Object(result)).map((name) => [name, result[name]]));
  if (result?.mined) judged.mined = [...result.mined.keys()];
  if (result?.refusal) judged.refusal = told(result.refusal);
  return { result: result && typeof result === "object" ? { ...result, ...judged } : result, pauses, events, ...recorded() };
}

/** Read events until one of each type of `until` came. */
async function events({ options, args: [follow], until }) {
  const client = new quietswap.QuietswapClient({ ...options, sleep: async () => undefined });
  const found = [];
  for await (const event of client.events(follow)) {
    found.push([event.sequence, event.type, event.order.orderId]);
    if (until.every((type) => found.some(([, each]) => each === type))) break;
  }
  return { result: found };
}

function decoded({ args: [router, data, buyToken] }) {
  try {
    return { result: decode(router, data, buyToken) };
  } catch (error) {
    if (error.constructor.name !== "UnboundCalldata") throw error;
    return { result: { refused: error.message, isMalformed: error.isMalformed } };
  }
}

const special = {
  events,
  decode: decoded,
  decodeAll: ({ args: [cases] }) => ({ result: cases.map((args) => decoded({ args }).result) }),
  sign: async ({ args: [transaction, wallet], signer }) => ({
    result: await sign(transaction, signerOf(signer), wallet),
  }),
};

const NO_ORDERS = { orders: [], total: 0, hasMore: false, pagination: { limit: 200, offset: 0, returned: 0 } };

/** What a vector's case makes of the client; null if `accept` was asked, so that all checks passed. */
async function vector({ args: [known] }) {
  const { flow, request, node, settlers, prices, answer, status, usage } = known;
  let accepted = false;
  const accept = () => {
    accepted = true;
    return false;
  };
  const fetch = async (url, init) => {
    if (url.startsWith("http://node")) {
      const asked = JSON.parse(init.body);
      if (!Array.isArray(asked)) return Response.json(nodeAnswer(asked, settlers, prices));
      return Response.json(asked.map((call) => nodeAnswer(call, settlers, prices)));
    }
    if (url.endsWith("/usage")) return Response.json({ ok: true, data: usage });
    if (url.includes("/orders/user/")) return Response.json({ ok: true, data: NO_ORDERS });
    const isStatus = init.method === "GET" && !url.includes("/quote?");
    return Response.json({ ok: true, data: isStatus ? status : answer });
  };
  const client = new quietswap.QuietswapClient({
    url: "http://service",
    apiKey: "key",
    ...(node && { rpcUrl: "http://node" }),
    fetch,
    sleep: async () => undefined,
  });
  const never = () => Promise.reject(new Error("asked to sign"));
  const { operation, amount, ...conditions } = request;
  try {
    await (flow === "wrap"
      ? client[operation](amount, never, { ...conditions, accept })
      : client[flow]({ ...request, accept }, never));
  } catch (error) {
    if (accepted) return { result: null };
    const reason = error.name === "UnexpectedResponse" ? "" : (error.reason ?? error.message);
    return { result: { error: error.name, reason } };
  }
  throw new Error(`${known.name}: neither accepted nor refused`);
}
special.vector = vector;

/** What the client makes of each raw answer of the service: the text of its data, or an error. */
special.answers = async ({ args: [cases] }) => {
  const { streamQuote } = await import("./built/stream.js");
  const result = [];
  for (const { answer, status, body } of cases) {
    const media = answer === "StreamedRoute" ? "text/event-stream" : "application/json";
    const fetch = async () => new Response(Buffer.from(body, "base64"), { status, headers: { "content-type": media } });
    const io = transportOf({ url: "http://service", apiKey: "key", fetch });
    let route;
    try {
      if (answer === "StreamedRoute") await streamQuote(io, { path: "/x", answer }, (found) => (route = found));
      else route = await send(io, { path: "/x", answer });
    } catch (error) {
      if (!route) result.push({ error: error.name });
    }
    if (route) result.push(JSON.stringify(route));
  }
  return { result };
};

/** What the client makes of each raw answer of its own node. */
special.nodeAnswers = async ({ args: [cases] }) => {
  const result = [];
  for (const { status, body } of cases) {
    const fetch = async () => new Response(Buffer.from(body, "base64"), { status });
    const options = { url: "http://service", apiKey: "key", rpcUrl: "http://node", fetch };
    const io = transportOf({ ...options, sleep: async () => undefined });
    const found = await rpc(io, "eth_call", []).then(JSON.stringify, ({ name, message }) => ({ error: name, message }));
    result.push(found);
  }
  return { result };
};

/** Why each quote may not be signed in its batched form; null if it may be. */
special.checkBatches = ({ args: [cases] }) => {
  const reasonOf = ([quote, request]) => {
    try {
      checkBatch(quote, checkedRequest(request, request.wallet));
      return null;
    } catch (error) {
      if (error.name !== "UnsafeQuote") throw error;
      return error.reason;
    }
  };
  return { result: cases.map(reasonOf) };
};

/** The number that each result of a node is, as text. */
special.quantities = async ({ args: [cases] }) => ({
  result: cases.map((one) => {
    try {
      return String(quantity(one));
    } catch {
      return null;
    }
  }),
});

/** What the client makes of each swap at the node, and what the node answered its simulation. */
special.simulate = async ({ args: [rpcUrl, cases] }) => {
  const simulated = async ([quote, request]) => {
    let answer = null;
    const noting = async (url, init) => {
      const response = await fetch(url, init);
      if (!init.body.includes("eth_simulateV1")) return response;
      const at = [JSON.parse(init.body)].flat().findIndex(({ method }) => method === "eth_simulateV1");
      answer = [await response.clone().json()].flat()[at];
      return response;
    };
    const io = transportOf({ url: "http://service", apiKey: "key", rpcUrl, fetch: noting });
    try {
      return { ...(await simulateSwap(io, { quote, request, isBatched: false })), answer };
    } catch (error) {
      if (error.name !== "UnsafeQuote") throw error;
      return { refused: error.message, answer };
    }
  };
  const result = [];
  for (const each of cases) result.push(await simulated(each));
  return { result };
};

const PLENTY = 2n ** 255n;

/** The node of `tests/vectors`: mainnet, a wallet with plenty of all, nonce 7, a base fee of 3 gwei, 0x's Deployer, and feeds if `prices`. */
function nodeAnswer({ id, method, params }, settlers, prices) {
  const now = Math.floor(Date.now() / 1000);
  const results = {
    eth_chainId: "0x1",
    eth_getTransactionCount: "0x7",
    eth_getBalance: `0x${PLENTY.toString(16)}`,
    eth_getBlockByNumber: { number: "0x1", baseFeePerGas: "0xb2d05e00", timestamp: `0x${now.toString(16)}` },
    eth_getTransactionByHash: null,
  };
  const index = { "0x6352211e": 0, "0xe2603dc2": 1 }[params[0]?.data?.slice(0, 10)];
  const selector = params[0]?.data?.slice(0, 10);
  const isEther = /^0x(5f4ec3df9cbd43714fe2740f5e3616155c5b8419|c02aaa39)/i.test(params[0]?.to ?? "");
  const words = {
    "0xfeaf968c": prices && [1, (isEther ? 3000 : 1) * 1e8, 0, now, 1],
    "0x313ce567": [isEther ? 18 : 6],
    "0x70a08231": [PLENTY],
    "0xdd62ed3e": [PLENTY],
  }[selector];
  if (words) {
    const result = `0x${words.map((word) => word.toString(16).padStart(64, "0")).join("")}`;
    return { jsonrpc: "2.0", id, result };
  }
  const named = index === undefined ? undefined : settlers[index];
  const result = named ? `0x${named.slice(2).toLowerCase().padStart(64, "0")}` : results[method];
  if (result !== undefined) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: { code: 3, message: "execution reverted" } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line, revive);
  let outcome;
  try {
    outcome = await (special[command.method] ?? run)(command);
  } catch (error) {
    outcome = { error: told(error) };
  }
  process.stdout.write(`${JSON.stringify(outcome, plain)}\n`);
}
