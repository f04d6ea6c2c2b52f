// Made by tools/typescript_data.py from the tables of the Python package: do not edit.
import type { MethodRow } from "../method-row.js";

/** Routers that have rows, by address in lower case. */
export const ROUTER_NAMES = {
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5": "KyberSwap MetaAggregationRouterV2",
  "0x6a000f20005980200259b80c5102003040001068": "Velora Augustus v6.2",
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75": "Sushi RedSnwapper",
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64": "OpenOcean ExchangeV2",
  "0x0000000000001ff3684f28c67538d4d072c22734": "0x AllowanceHolder",
  "0x111111125421ca6dc452d289314280a0f8842a65": "1inch AggregationRouterV6"
} as const;

/** Without `routers` in a request, only these contracts are approved or called. */
export const PINNED_ROUTERS = [
  "0x0000000000001ff3684f28c67538d4d072c22734",
  "0x111111125421ca6dc452d289314280a0f8842a65",
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5",
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64",
  "0x6a000f20005980200259b80c5102003040001068",
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75"
] as const;

/** What each router method enforces, by router and selector. */
export const METHODS: Record<string, MethodRow> = {
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5 e21fd0e9": {"name": "swap", "measuresRecipient": true, "layout": {"sell": 0, "amount": 7, "minimum": 8, "buy": 1, "recipient": 6, "within": [0, 3], "flags": 9, "allowedFlags": "0x2e0", "permit": 10, "permitWithin": true}},
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5 8af033fb": {"name": "swapSimpleMode", "measuresRecipient": true, "layout": {"sell": 0, "amount": 7, "minimum": 8, "buy": 1, "recipient": 6, "within": [1], "flags": 9, "allowedFlags": "0x2e0", "permit": 10, "permitWithin": true}},
  "0x6a000f20005980200259b80c5102003040001068 e3ead59e": {"name": "swapExactAmountIn", "layout": {"sell": 1, "amount": 3, "minimum": 4, "buy": 2, "recipient": 7, "permit": 9, "quoted": 5, "partner": 8, "dust": 1}},
  "0x6a000f20005980200259b80c5102003040001068 e8bb3b6c": {"name": "swapExactAmountInOnUniswapV2", "layout": {"sell": 0, "amount": 2, "minimum": 3, "buy": 1, "recipient": 6, "within": [0], "permit": 2, "quoted": 4, "partner": 1, "dust": 1, "pools": 7, "poolSize": 64}},
  "0x6a000f20005980200259b80c5102003040001068 876a02f6": {"name": "swapExactAmountInOnUniswapV3", "layout": {"sell": 0, "amount": 2, "minimum": 3, "buy": 1, "recipient": 6, "within": [0], "permit": 2, "quoted": 4, "partner": 1, "pools": 7, "poolSize": 96}},
  "0x6a000f20005980200259b80c5102003040001068 1a01c532": {"name": "swapExactAmountInOnCurveV1", "layout": {"sell": 2, "amount": 4, "minimum": 5, "buy": 3, "recipient": 8, "permit": 10, "quoted": 6, "partner": 9, "dust": 1, "wrap": 0}},
  "0x6a000f20005980200259b80c5102003040001068 e37ed256": {"name": "swapExactAmountInOnCurveV2", "layout": {"sell": 4, "amount": 6, "minimum": 7, "buy": 5, "recipient": 10, "permit": 12, "quoted": 8, "partner": 11, "dust": 1, "wrap": 0}},
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75 5f3bd1c8": {"name": "snwap", "measuresRecipient": true, "layout": {"sell": 0, "amount": 1, "minimum": 4, "buy": 3, "recipient": 2, "zeroIsSender": false}},
  "0x0000000000001ff3684f28c67538d4d072c22734 2213bc0b": {"name": "exec around Settler.execute", "nested": "1fff991f", "layout": {"sell": 1, "amount": 2, "minimum": 2, "buy": 1, "recipient": 0, "zeroIsSender": false}},
  "0x111111125421ca6dc452d289314280a0f8842a65 07ed2379": {"name": "swap", "layout": {"sell": 1, "amount": 5, "minimum": 6, "buy": 2, "recipient": 4, "flags": 7}},
  "0x111111125421ca6dc452d289314280a0f8842a65 83800a8e": {"name": "unoswap", "layout": {"sell": 0, "amount": 1, "minimum": 2, "dex": 3}},
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64 90411a32": {"name": "swap", "refuses": "the router is an upgradeable proxy whose implementation is not the public source; it is offered only where the operator sets `source.openocean.accept_unbound`", "measuresRecipient": true, "unproven": true, "layout": {"sell": 0, "amount": 4, "minimum": 5, "buy": 1, "recipient": 3, "within": [1], "flags": 7, "allowedFlags": "0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe", "permit": 9, "permitWithin": true}},
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5 59e50fed": {"name": "swapGeneric", "refuses": "it calls any target of a list that its owner keeps, with any data"},
  "0x6a000f20005980200259b80c5102003040001068 d85ca173": {"name": "swapExactAmountInOnBalancerV2", "refuses": "its tokens and its beneficiary are in a nested call and a packed word"},
  "0x6a000f20005980200259b80c5102003040001068 da35bb0d": {"name": "swapOnAugustusRFQTryBatchFill", "refuses": "its tokens and its beneficiary are in a nested call and a packed word"},
  "0x6a000f20005980200259b80c5102003040001068 7f457675": {"name": "swapExactAmountOut", "refuses": "a buy order: its surplus is taken from the sell token"},
  "0x6a000f20005980200259b80c5102003040001068 a76f4eb6": {"name": "swapExactAmountOutOnUniswapV2", "refuses": "a buy order: its surplus is taken from the sell token"},
  "0x6a000f20005980200259b80c5102003040001068 5e94e28d": {"name": "swapExactAmountOutOnUniswapV3", "refuses": "a buy order: its surplus is taken from the sell token"},
  "0x6a000f20005980200259b80c5102003040001068 d6ed22e6": {"name": "swapExactAmountOutOnBalancerV2", "refuses": "a buy order: its surplus is taken from the sell token"},
  "0x6a000f20005980200259b80c5102003040001068 0d893d62": {"name": "swapExactAmountInPro", "refuses": "its code is a facet, which the owner can replace at any time"},
  "0x6a000f20005980200259b80c5102003040001068 44224add": {"name": "swapExactAmountOutPro", "refuses": "its code is a facet, which the owner can replace at any time"},
  "0x6a000f20005980200259b80c5102003040001068 987e7d8e": {"name": "swapExactAmountInOutOnMakerPSM", "refuses": "its code is a facet, which the owner can replace at any time"},
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75 d33721a5": {"name": "snwapMultiple", "refuses": "it pulls any list of tokens"},
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64 8980041a": {"name": "callUniswap", "refuses": "any address can be the pair, and the amount it reports is compared with the minimum"},
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64 6b58f2f0": {"name": "callUniswapTo", "refuses": "any address can be the pair, and the amount it reports is compared with the minimum"},
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64 e449022e": {"name": "uniswapV3Swap", "refuses": "any address can be the pair, and the amount it reports is compared with the minimum"},
  "0x6352a56caadc4f1e25cd6c75970fa768a3304e64 bc80f1a8": {"name": "uniswapV3SwapTo", "refuses": "any address can be the pair, and the amount it reports is compared with the minimum"},
  "0x0000000000001ff3684f28c67538d4d072c22734 1fff991f": {"name": "execute", "refuses": "Settler is called through AllowanceHolder only, without a signature of the wallet"},
  "0x0000000000001ff3684f28c67538d4d072c22734 06b8524c": {"name": "executeWithPermit", "refuses": "Settler is called through AllowanceHolder only, without a signature of the wallet"},
  "0x0000000000001ff3684f28c67538d4d072c22734 fd3ad6d4": {"name": "executeMetaTxn", "refuses": "Settler is called through AllowanceHolder only, without a signature of the wallet"},
  "0x111111125421ca6dc452d289314280a0f8842a65 8770ba91": {"name": "unoswap2", "refuses": "the first and last pool cannot be derived without reading the chain"},
  "0x111111125421ca6dc452d289314280a0f8842a65 19367472": {"name": "unoswap3", "refuses": "the first and last pool cannot be derived without reading the chain"},
  "0x111111125421ca6dc452d289314280a0f8842a65 ea76dddf": {"name": "unoswapTo2", "refuses": "the first and last pool cannot be derived without reading the chain"},
  "0x111111125421ca6dc452d289314280a0f8842a65 f7a70056": {"name": "unoswapTo3", "refuses": "the first and last pool cannot be derived without reading the chain"},
  "0x111111125421ca6dc452d289314280a0f8842a65 e2c95c82": {"name": "unoswapTo", "refuses": "`unoswap` does the same for the sender"},
  "0x111111125421ca6dc452d289314280a0f8842a65 a76dfc3b": {"name": "ethUnoswap", "refuses": "it sells ETH"},
  "0x111111125421ca6dc452d289314280a0f8842a65 89af926a": {"name": "ethUnoswap2", "refuses": "it sells ETH"},
  "0x111111125421ca6dc452d289314280a0f8842a65 188ac35d": {"name": "ethUnoswap3", "refuses": "it sells ETH"},
  "0x111111125421ca6dc452d289314280a0f8842a65 d2d374e5": {"name": "clipperSwap", "refuses": "the named exchange receives the whole amount, and its payment is not checked"},
  "0x111111125421ca6dc452d289314280a0f8842a65 c4d652af": {"name": "clipperSwapTo", "refuses": "the named exchange receives the whole amount, and its payment is not checked"},
  "0x111111125421ca6dc452d289314280a0f8842a65 9fda64bd": {"name": "fillOrder", "refuses": "its threshold may be absent or a rate; the order may be filled in part and calls its maker"},
  "0x111111125421ca6dc452d289314280a0f8842a65 f497df75": {"name": "fillOrderArgs", "refuses": "its threshold may be absent or a rate; the order may be filled in part and calls its maker"},
  "0x111111125421ca6dc452d289314280a0f8842a65 cc713a04": {"name": "fillContractOrder", "refuses": "its threshold may be absent or a rate; the order may be filled in part and calls its maker"},
  "0x111111125421ca6dc452d289314280a0f8842a65 56a75868": {"name": "fillContractOrderArgs", "refuses": "its threshold may be absent or a rate; the order may be filled in part and calls its maker"},
  "0x111111125421ca6dc452d289314280a0f8842a65 5816d723": {"name": "permitAndCall", "refuses": "it runs any other method after a permit"},
};

/** Factories of pairs: address and hash of the creation code. */
export const V2_FACTORIES = [
  [
    "0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f",
    "0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"
  ],
  [
    "0xc0aee478e3658e2610c5f7a4a2e1777ce9e4f2ac",
    "0xe18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303"
  ]
] as const;

/** Uniswap V3's factory, in the same form. */
export const V3_FACTORY = [
  "0x1f98431c8ad98523631ae4a59f267346ea31f984",
  "0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"
] as const;

/** Its fee tiers, in hundredths of a bps. */
export const V3_FEES = [
  100,
  500,
  3000,
  10000
] as const;

/** Chainlink's USD feed of a token, and its heartbeat in s. */
export const PRICE_FEEDS = {
  "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2": [
    "0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419",
    3600
  ],
  "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599": [
    "0xf4030086522a5beea4988f8ca5b36dbc97bee88c",
    3600
  ],
  "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": [
    "0x8fffffd4afb6115b954bd326cbe7b4ba576818f6",
    86400
  ],
  "0xdac17f958d2ee523a2206206994597c13d831ec7": [
    "0x3e7d1eab13ad0104d2750b8863b489d65364e32d",
    86400
  ],
  "0x6b175474e89094c44da98b954eedeac495271d0f": [
    "0xaed0c38402a5d19df6e4c03f4e2dced6e29c1ee9",
    3600
  ]
} as const;

/** Tokens whose code has no fee on transfer. */
export const WITHOUT_TRANSFER_FEE = [
  "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599",
  "0x6b175474e89094c44da98b954eedeac495271d0f",
  "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
  "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
] as const;

/** Codes after which the same request may succeed. */
export const TRANSIENT = [
  "INTERNAL_SERVER_ERROR",
  "RATE_LIMIT_EXCEEDED",
  "SERVICE_UNAVAILABLE",
  "TOO_MANY_STREAMS"
] as const;

/** 0x's Deployer, and the two calls that name its Settlers. */
export const SETTLERS = [
  "0x00000000000004533fe15556b1e086bb1a72ceae",
  "0x6352211e0000000000000000000000000000000000000000000000000000000000000002",
  "0xe2603dc20000000000000000000000000000000000000000000000000000000000000002"
] as const;

export const GAS_LIMIT_CAP = 16777216n;

export const LEAST_GAS = 21000n;

export const ABSURD_FEE = 10000000000000n;

export const MAX_FEE_WEI = 50000000000000000n;

export const FEE_MULTIPLE = 10n;

export const FEE_HEADROOM = 10000000000n;

export const CANCEL_GAS = 21000n;

export const CANCEL_FEE_WEI = 20000000000000000n;

export const GAS_MULTIPLE_HALVES = 7n;

export const MODEST_GAS = 500000n;

export const FRESH_S = 20;

export const LEAST_INTERVAL_S = 1;

export const MOST_INTERVAL_S = 60;

export const MOST_RETRY_S = 300;

export const MAX_BODY = 4194304;
