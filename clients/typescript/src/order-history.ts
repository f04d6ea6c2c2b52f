/** The request for a page of a wallet's orders. */
import { segment, type Call, type Query } from "./transport.js";
import type { OrderHistory } from "./types.js";

export const historyCall = (wallet: string, query: Query): Call<OrderHistory> => ({
  path: `/mev/orders/user/${segment(wallet)}`,
  query,
  answer: "OrderHistoryEnvelope",
});
