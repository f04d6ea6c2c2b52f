// Made by tools/typescript_data.py from the tables of the Python package: do not edit.
import type { Router } from "../method-row.js";

/**
 * Routers by address in lower case, with what each method enforces. Without
 * `routers` in a request, only these contracts are approved or called.
 */
export const ROUTERS: Record<string, Router> = {
  "0x6131b5fae19ea4f9d964eac0408e4408b66337b5": [
    "KyberSwap MetaAggregationRouterV2",
    {
      // swap
      "e21fd0e9": [0, 7, 8, 1, 6, true, , , [0, 3], 9, 704, 10, true, , , , , , , , 4],
    },
    {
      "it calls any target of a list that its owner keeps, with any data":
        "59e50fed swapGeneric",
      "each draw is measured at the wallet: a payout to it meanwhile lets the router draw more":
        "8af033fb swapSimpleMode",
    },
  ],
  "0x6a000f20005980200259b80c5102003040001068": [
    "Velora Augustus v6.2",
    {
      // swapExactAmountIn
      "e3ead59e": [1, 3, 4, 2, 7, , , , , , , 9, , 5, 8, 1],
      // swapExactAmountInOnUniswapV2
      "e8bb3b6c": [0, 2, 3, 1, 6, , , , [0], , , 2, , 4, 1, 1, 7, 64],
      // swapExactAmountInOnUniswapV3
      "876a02f6": [0, 2, 3, 1, 6, , , , [0], , , 2, , 4, 1, , 7, 96],
      // swapExactAmountInOnCurveV1
      "1a01c532": [2, 4, 5, 3, 8, , , , , , , 10, , 6, 9, 1, , , 0],
      // swapExactAmountInOnCurveV2
      "e37ed256": [4, 6, 7, 5, 10, , , , , , , 12, , 8, 11, 1, , , 0],
    },
    {
      "its tokens and its beneficiary are in a nested call and a packed word":
        "d85ca173 swapExactAmountInOnBalancerV2 da35bb0d swapOnAugustusRFQTryBatchFill",
      "a buy order: its surplus is taken from the sell token":
        "7f457675 swapExactAmountOut a76f4eb6 swapExactAmountOutOnUniswapV2 5e94e28d swapExactAmountOutOnUniswapV3 d6ed22e6 swapExactAmountOutOnBalancerV2",
      "its code is a facet, which the owner can replace at any time":
        "0d893d62 swapExactAmountInPro 44224add swapExactAmountOutPro 987e7d8e swapExactAmountInOutOnMakerPSM",
    },
  ],
  "0x0000000000001ff3684f28c67538d4d072c22734": [
    "0x AllowanceHolder",
    {
      // exec around Settler.execute
      "2213bc0b": [1, 2, 2, 1, 0, , "1fff991f", false],
    },
    {
      "Settler is called through AllowanceHolder only, without a signature of the wallet":
        "1fff991f execute 06b8524c executeWithPermit fd3ad6d4 executeMetaTxn",
    },
  ],
  "0x111111125421ca6dc452d289314280a0f8842a65": [
    "1inch AggregationRouterV6",
    {
      // swap
      "07ed2379": [1, 5, 6, 2, 4, , , , , 7],
      // unoswap
      "83800a8e": [0, 1, 2, , , , , , , , , , , , , , , , , 3],
    },
    {
      "the first and last pool cannot be derived without reading the chain":
        "8770ba91 unoswap2 19367472 unoswap3 ea76dddf unoswapTo2 f7a70056 unoswapTo3",
      "`unoswap` does the same for the sender":
        "e2c95c82 unoswapTo",
      "it sells ETH":
        "a76dfc3b ethUnoswap 89af926a ethUnoswap2 188ac35d ethUnoswap3",
      "the named exchange receives the whole amount, and its payment is not checked":
        "d2d374e5 clipperSwap c4d652af clipperSwapTo",
      "its threshold may be absent or a rate; the order may be filled in part and calls its maker":
        "9fda64bd fillOrder f497df75 fillOrderArgs cc713a04 fillContractOrder 56a75868 fillContractOrderArgs",
      "it runs any other method after a permit":
        "5816d723 permitAndCall",
    },
  ],
  "0xac4c6e212a361c968f1725b4d055b47e63f80b75": [
    "Sushi RedSnwapper",
    {
      // snwap
      "5f3bd1c8": [0, 1, 4, 3, 2, true, , false],
    },
    {
      "it pulls any list of tokens":
        "d33721a5 snwapMultiple",
    },
  ],
  "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45": [
    "Uniswap SwapRouter02",
    {
      // multicall
      "5ae401dc": [0, 4, 5, 1, 3, , "04e45aaf b858183f 472b43f3 df2ab5bb", , , , , , , , , , , , , , , 0],
    },
    {
      "it has no deadline: `multicall` with one does the same":
        "ac9650d8 multicall 1f0464d1 multicall 04e45aaf exactInputSingle b858183f exactInput 472b43f3 swapExactTokensForTokens",
      "a buy order: it sells up to a maximum":
        "5023b4df exactOutputSingle 09b81346 exactOutput 42712a67 swapTokensForExactTokens",
    },
  ],
};

/** Sources as people read them. */
export const SOURCES = {
  "kyberswap": "KyberSwap",
  "velora": "Velora",
  "zeroex": "0x",
  "oneinch": "1inch",
  "sushi": "Sushi",
  "uniswap": "Uniswap"
} as const;

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

/** Canonical WETH9 on Ethereum mainnet. */
export const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" as const;

/** Tokens whose code has no fee on transfer. */
export const WITHOUT_TRANSFER_FEE = [
  "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599",
  "0x6b175474e89094c44da98b954eedeac495271d0f",
  "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
  WETH
] as const;

/** The note of a quote whose minimum a fee of the token could lower. */
export const FEE_MAY_RISE = "the minimum holds before a fee on transfer of the buy token: if its owner raises one after this quote, less than the minimum can arrive" as const;

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

/** The calls of WETH9 that convert. */
export const WRAP_SELECTORS = {
  "wrap": "0xd0e30db0",
  "unwrap": "0x2e1a7d4d"
} as const;

/** Code that was read, to which a wallet that batches may be delegated. */
export const DELEGATES = [
  "0x000000009b1d0af20d8c6d0a44e162d11f9b8f00",
  "0x63c0c19a282a1b52b07dd5a65b58948a07dae32b"
] as const;

/** From which loss what is asked; gas counts above its share. */
export const LOSS_BPS = {
  "NOTICE": 100,
  "CONFIRM": 300,
  "TYPE": 1500,
  "GAS": 1000
} as const;

/** Causes of a loss, after the share in percent. */
export const LOSS_WORDS = {
  "price_unknown": "an unknown share (no price is known)",
  "price_impact": "price impact",
  "reference_price": "below Chainlink's prices at your node",
  "slippage": "slippage",
  "gas": "of the value for gas"
} as const;

export const GAS_LIMIT_CAP = 16777216n;

export const LEAST_GAS = 21000n;

export const ABSURD_FEE = 10000000000000n;

export const MAX_FEE_WEI = 50000000000000000n;

export const FROM_ZERO_GAS = 105100n;

export const FEE_MULTIPLE = 10n;

export const FEE_HEADROOM = 10000000000n;

export const CANCEL_GAS = 21000n;

export const MOST_CANCEL_GAS = 100000n;

export const CANCEL_FEE_WEI = 20000000000000000n;

export const GAS_MULTIPLE_HALVES = 7n;

export const MODEST_GAS = 500000n;

export const VIEW_GAS = 3000000n;

export const MOST_VIEWS = 20n;

export const SLOT_S = 12n;

export const FRESH_S = 20;

export const LEAST_INTERVAL_S = 1;

export const MOST_INTERVAL_S = 60;

export const MOST_RETRY_S = 300;

export const MOST_WAIT_S = 86400;

export const MAX_BODY = 4194304;

export const MAX_LEVELS = 200;

export const MOST_NUMBER_CHARS = 40;

export const EXACT_DIGITS = 15;
