/**
 * A client of a quietswap service that does not trust it: quotes are checked, simulated at your own
 * node, signed in your process and followed until your own node shows the outcome.
 */
export type { ApprovalSent, Approved } from "./approvals.js";
export type { CancelEvent, CancelRequest, CancelResult } from "./cancel-result.js";
export { QuietswapClient, type ClientOptions, type HistoryOptions } from "./client.js";
export {
  ApiError,
  ClientError,
  NodeRpcError,
  NodeUnreachable,
  ServiceUnreachable,
  UnexpectedResponse,
  WrongChain,
  type ErrorDetails,
} from "./errors.js";
export type { TradeResult } from "./ether-swap.js";
export type { EventsOptions } from "./events.js";
export type { OutcomeWatch } from "./finality.js";
export * from "./flow-errors.js";
export { lossText, type Confirm, type Loss } from "./loss.js";
export type { Log, Receipt } from "./node.js";
export { OrderEnd } from "./order-end.js";
export type { PollingOptions, SignedOrders } from "./polling.js";
export type { SwapRequest } from "./quote-checks.js";
export { providerSigner, type Account, type SignFunction, type Signer, type Transaction } from "./signing.js";
export type { SwapSimulation } from "./simulation.js";
export { SwapPlan, type PlannedApproval, type Step, type WalletFacts } from "./swap-plan.js";
export { SwapResult, type SwapEvent } from "./swap.js";
export type { Terms, TradeStep } from "./trade.js";
export type { Eip1193Provider, TransportOptions } from "./transport.js";
export type * from "./types.js";
export { WETH } from "./generated/rules.js";
export type { WrapEvent, WrapOptions, WrapResult } from "./wrap.js";
