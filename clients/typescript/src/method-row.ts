/** The columns of the generated table of router methods (`ROUTERS`). */

/**
 * What a method enforces. Numbers are places of its terms, as word indexes of its arguments; `within`
 * are the words with the offsets to follow first. An empty place: the method has no such field.
 */
export type Layout = readonly [
  sell: number,
  amount: number,
  minimum: number,
  buy?: number | undefined,
  recipient?: number | undefined,
  /** Whether the router compares the wallet's balance with the minimum. */
  measuresRecipient?: boolean | undefined,
  /** The selector of the nested call whose words hold the terms (0x), or of the accepted ones. */
  nested?: string | undefined,
  zeroIsSender?: boolean | undefined,
  within?: readonly number[] | undefined,
  flags?: number | undefined,
  allowedFlags?: number | bigint | undefined,
  permit?: number | undefined,
  permitWithin?: boolean | undefined,
  quoted?: number | undefined,
  partner?: number | undefined,
  /** Smallest units of the measured amount that the router keeps. */
  dust?: number | undefined,
  pools?: number | undefined,
  /** Bytes per pool; with 96 the group names the tokens that move. */
  poolSize?: number | undefined,
  wrap?: number | undefined,
  /** The word with the pool, whose address must be derived from a factory. */
  dex?: number | undefined,
  /** The receivers of a fee, which is taken from the sold token without flag 0x40. */
  fees?: number | undefined,
  /** The word with the router's deadline: a `multicall`, with the terms in its nested calls. */
  deadline?: number | undefined,
];

/**
 * One router. `refusals` are the methods without a proof by their reason, each as selector and name;
 * such a method has a layout only if its terms can be read.
 */
export type Router = readonly [
  name: string,
  layouts: Readonly<Record<string, Layout>>,
  refusals: Readonly<Record<string, string>>,
];
