/** Types of the interface, from the OpenAPI document. Amounts are decimal strings, as on the wire. */
import type { components } from "./generated/openapi.js";

export type Hex = `0x${string}`;

export type Schemas = components["schemas"];
export type SwapQuote = Schemas["SwapQuoteResponse"];
export type StreamedRoute = Schemas["StreamedRoute"];
export type SwapOrder = Schemas["SwapOrderResponse"];
export type WrapQuote = Schemas["WrapQuoteResponse"];
export type WrapOrder = Schemas["WrapOrderResponse"];
export type CancelQuote = Schemas["CancelQuoteResponse"];
export type CancelOrder = Schemas["CancelOrderResponse"];
export type OrderStatus = Schemas["OrderStatusResponse"];
export type OrderState = Schemas["OrderState"];
export type OrderHistory = Schemas["OrderHistoryResponse"];
export type OrderEvent = Schemas["OrderEventMessage"];
export type WrapOperation = WrapQuote["operation"];

/** A body of an error answer, one type per code. */
export type ErrorBody = Extract<Schemas[keyof Schemas], { ok: false; error: string }>;
/** Every error code of the interface. */
export type ErrorCode = ErrorBody["error"];

/** The parts of `transactionParams` that all quotes have; the nonce of a wrap is null. */
export interface TransactionParams {
  readonly to: string;
  readonly data: string;
  readonly value: string;
  readonly gasLimit: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  readonly nonce: number | null;
  readonly chainId: number;
  readonly type: number;
}
