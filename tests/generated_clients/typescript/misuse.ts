// Code that must not compile. If a type of the document became `any`, tsc would report the directive
// above the line as unused. This file is compiled, but not run.
import { api } from "./service.ts";
import type { components } from "./quietswap.d.ts";

type Schemas = components["schemas"];

export const misuse = async (quote: Schemas["SwapQuoteResponse"], body: Schemas["WrapOrderBody"]) => {
  // @ts-expect-error: the quote has no such member
  quote.buyAmuont;
  // @ts-expect-error: amounts are decimal strings
  quote.sellAmount = 1;
  // @ts-expect-error: a level that does not exist
  quote.mevAnalysis.threatLevel = "low";
  // @ts-expect-error: the relay's settings are typed
  quote.mevProtection.providerMetadata.mevRelayMetadata.shareMode = "all";
  // @ts-expect-error: the metadata is required
  const incomplete: Schemas["SwapOrderBody"] = { signedTransaction: "0x02" };
  // @ts-expect-error: an operation that does not exist
  body.operation = "deposit";
  // @ts-expect-error: a path that does not exist
  await api.GET("/api/v1/quotes");
  const params = { path: { orderId: "ord_1" } };
  const { data, error } = await api.GET("/api/v1/mev/orders/{orderId}", { params });
  // @ts-expect-error: a status that does not exist
  if (data?.data.status === "done") return incomplete;
  // @ts-expect-error: a code that this operation does not have
  if (error?.error === "INVALID_AMOUNT") return error;
  return data;
};
