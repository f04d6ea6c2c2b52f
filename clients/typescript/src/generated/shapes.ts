// Made by tools/typescript_data.py from the contract of the Python package: do not edit.

/**
 * The members of each answer, as `name:kind`. A name ends in `?` if the member may be absent, a kind
 * if it may be null; `[]` begins a list, and `|` separates texts.
 */
export const SHAPES = {
  SwapQuoteEnvelope:
    "ok:truth data:SwapQuoteResponse timestamp?:count",
  SwapQuoteResponse:
    "source:text sellToken:text buyToken:text sellAmount:amount buyAmount:amount minBuyAmount:amount estimatedGas:count priceImpact:figure priceImpactAvailable?:truth dexRoute:DexRoute executableUntil?:time? scoring:Scoring alternatives:[]AlternativeEntry mevAnalysis:MevAnalysis mevProtection:SwapMevProtection verification?:Verification? loss?:LossJudgement? sources?:[]SourceEntry issues?:Issues batch?:BatchedSwap? timestamp?:count",
  DexRoute:
    "dex:text target:text path:[]text data:text",
  Scoring:
    "netValueUsd:figure gasCostUsd:figure priceAvailable?:truth",
  AlternativeEntry:
    "source:text buyAmount:amount netValueUsd:figure",
  MevAnalysis:
    "threatLevel:text estimatedProtectionUsd:figure known?:truth",
  SwapMevProtection:
    "provider:text transactionParams:TransactionParams providerMetadata:object",
  TransactionParams:
    "to:text data:text value:amount gasLimit:amount maxFeePerGas:amount maxPriorityFeePerGas:amount nonce:count? chainId:count type:count",
  Verification:
    "status:text bound?:truth notes?:[]text",
  LossJudgement:
    "level:text bps:count causes:[]LossCauseEntry",
  LossCauseEntry:
    "cause:text bps:count?",
  SourceEntry:
    "source:text outcome:text latencyMs:count promised?:amount? simulated?:amount? differenceBps?:integer? reason?:text? referenceBps?:integer?",
  Issues:
    "allowance?:AllowanceIssue? balance?:BalanceIssue? gas?:GasIssue?",
  AllowanceIssue:
    "spender:text actual:amount needed:amount",
  BalanceIssue:
    "token:text actual:amount needed:amount",
  GasIssue:
    "actual:amount needed:amount",
  BatchedSwap:
    "delegate:text transactionParams?:TransactionParams? estimatedGas?:count? reason?:text? conversion?:unwrap|wrap?",
  StreamedRoute:
    "signable:truth source:text buyAmount:amount minBuyAmount:amount promised:amount simulated:amount estimatedGas:count",
  SwapOrderEnvelope:
    "ok:truth data:SwapOrderResponse",
  SwapOrderResponse:
    "order:SwapOrder tracking:Tracking",
  SwapOrder:
    "orderId:text provider:text tier:count status:cancelled|confirmed|failed|mining|pending|submitted submittedAt:time? expiresAt:time executableUntil?:time? estimatedExecutionTime:text trackingUrl:text providerOrderId:text? txHash:text",
  Tracking:
    "statusEndpoint:text pollingInterval:number",
  OrderStatusEnvelope:
    "ok:truth data:OrderStatusResponse",
  OrderStatusResponse:
    "orderId:text status:cancelled|confirmed|failed|mining|pending|submitted createdAt:time orderParams:OrderParams txHash?:text? submittedAt?:time? blockNumber?:count? gasUsed?:amount? effectiveGasPrice?:amount? confirmedAt?:time? error?:OrderFailure? kind?:approval|cancel|swap|transaction|wrap received?:Received? feePaidWei?:amount? delivered?:Delivered? refund?:Refund? reference?:Reference? expiresAt?:time? endpointType?:text? shareMode?:text? relayAnswer?:text? executableUntil?:time? nonce?:count? conversion?:unwrap|wrap?",
  OrderParams:
    "fromToken:text toToken:text amount:amount minReturnAmount:amount",
  OrderFailure:
    "code:text message:text mayBeMined?:truth blockNumber?:count? gasUsed?:amount? effectiveGasPrice?:amount?",
  Received:
    "token:text amount?:amount? reason?:text? unwrapped?:amount?",
  Delivered:
    "toPromiseBps:integer toMinimumBps:integer",
  Refund:
    "status:none|paid|reported amountWei:amount txHash?:text?",
  Reference:
    "blockNumber:count amount:amount valueWei:amount receivedBps:integer",
  OrderHistoryEnvelope:
    "ok:truth data:OrderHistoryResponse",
  OrderHistoryResponse:
    "orders:[]HistoryItem total:count hasMore:truth pagination:Pagination",
  HistoryItem:
    "orderId:text status:cancelled|confirmed|failed|mining|pending|submitted txHash?:text? blockNumber?:count? createdAt:time confirmedAt?:time? kind?:approval|cancel|swap|transaction|wrap relayAnswer?:text? conversion?:unwrap|wrap? summary:OrderSummary",
  OrderSummary:
    "sellToken:text buyToken:text sellAmount:amount buyAmount:amount",
  Pagination:
    "limit:count offset:count nextOffset?:count?",
  CancelQuoteEnvelope:
    "ok:truth data:CancelQuoteResponse",
  CancelQuoteResponse:
    "orderId:text provider:text transactionParams:CancelTransactionParams providerMetadata:object createdAt?:time? validUntil:time",
  CancelTransactionParams:
    "to:text data:text value:amount gasLimit:amount maxFeePerGas:amount maxPriorityFeePerGas:amount nonce:count? chainId:count type:count",
  CancelOrderEnvelope:
    "ok:truth data:CancelOrderResponse",
  CancelOrderResponse:
    "order:CancelTarget cancel:Cancel tracking:Tracking",
  CancelTarget:
    "orderId:text status:cancelled|confirmed|failed|mining|pending|submitted",
  Cancel:
    "orderId:text provider:text tier:count status:cancelled|confirmed|failed|mining|pending|submitted submittedAt:time expiresAt:time trackingUrl:text txHash:text",
  WrapQuoteEnvelope:
    "ok:truth data:WrapQuoteData",
  WrapQuoteData:
    "quote:WrapQuoteResponse",
  WrapQuoteResponse:
    "quoteId:text operation:unwrap|wrap amount:text amountWei:amount inputToken:text outputToken:text mevProtection:WrapMevProtection deadline:count estimatedGas:amount createdAt:time validUntil:time loss?:LossJudgement? notes?:[]text",
  WrapMevProtection:
    "provider:text transactionParams:WrapTransactionParams providerMetadata:object",
  WrapTransactionParams:
    "to:text data:text value:amount gasLimit:amount maxFeePerGas:amount maxPriorityFeePerGas:amount nonce:count? chainId:count type:count",
  WrapOrderEnvelope:
    "ok:truth data:WrapOrderData",
  WrapOrderData:
    "order:WrapOrderResponse",
  WrapOrderResponse:
    "operation:unwrap|wrap txHash:text from:text amount:text status:cancelled|confirmed|failed|mining|pending|submitted provider:text trackingUrl:text explorerUrl:text submittedAt:time?",
  UsageEnvelope:
    "ok:truth data:UsageResponse",
  UsageResponse:
    "clientId:text scope?:read|trade requestsPerMinute:CountUsage quotesPerDay:CountUsage openOrders:CountUsage ordersToday:count usdPerSwap:text? usdPerDay:ValueUsage wallets:[]text tokens:[]text dayEndsAt:time",
  CountUsage:
    "limit:count? used:count? left:count?",
  ValueUsage:
    "limit:text? used:text left:text?",
  ErrorEnvelope:
    "ok?:truth error:text message?:text details?:object? suggestion?:text? retryAfter?:number? limit?:integer? window?:integer?",
  OrderEventMessage:
    "id:text sequence:count type:text at:time order:OrderStatusResponse finality:Finality",
  Finality:
    "depth:count finalized:truth",
  PriceEnvelope:
    "ok:truth data:PriceResponse timestamp?:count",
  PriceResponse:
    "indicative:truth verification:none source:text sellToken:text buyToken:text sellAmount:amount buyAmount:amount estimatedGas:count priceImpact:figure priceImpactAvailable:truth scoring:Scoring sources:[]PriceSourceEntry loss?:LossJudgement?",
  PriceSourceEntry:
    "source:text outcome:text latencyMs:count buyAmount?:amount? reason?:text? referenceBps?:integer?",
  TokensEnvelope:
    "ok:truth data:TokensResponse",
  TokensResponse:
    "tokens:[]TokenEntry total:count hasMore:truth pagination:TokensPagination",
  TokenEntry:
    "address:text symbol:text name:text decimals:byte logoURI?:text? lists?:[]text transferFeeBps?:integer? warnings?:[]text",
  TokensPagination:
    "limit:count offset:count nextOffset:count",
  BalancesEnvelope:
    "ok:truth data:BalancesResponse",
  BalancesResponse:
    "userAddress:text blockNumber:count eth:Balance tokens:[]TokenBalance",
  Balance:
    "wei:amount ether:text",
  TokenBalance:
    "address:text symbol:text decimals:byte? balance:amount? allowances:[]RouterAllowance",
  RouterAllowance:
    "router:text allowance:amount?",
  OrderStatsEnvelope:
    "ok:truth data:OrderStatsResponse",
  OrderStatsResponse:
    "since:time until:time orders:count complete:truth sources:[]StatsGroup relays:[]StatsGroup",
  StatsGroup:
    "name:text orders:count open:count confirmed:count reverted:count failed:count cancelled:count dropped:count resent:count confirmedBps:count failedBps:count droppedBps:count resentBps:count inclusionBlocks?:PercentileRow? inclusionSeconds?:PercentileRow? deliveredBps?:PercentileRow? refunds:RefundStats",
  PercentileRow:
    "count:count p50:integer p90:integer p99:integer",
  RefundStats:
    "reported:count reportedWei:amount paid:count paidWei:amount",
  WrapInfoEnvelope:
    "ok:truth data:WrapInfoResponse",
  WrapInfoResponse:
    "weth:WethToken balances:Balances operations:Operations",
  WethToken:
    "address:text name:text symbol:text decimals:count chainId:count",
  Balances:
    "eth:Balance weth:Balance",
  Operations:
    "wrap:OperationInfo unwrap:OperationInfo",
  OperationInfo:
    "description:text maxAmount:text",
} as const;
