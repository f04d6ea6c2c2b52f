// What a quote says beside its figures: names of sources and routers, and the best of the routes so far.

import type { Route, Schemas, Status } from './api'
import type { Trade } from './trade/machine'
import { shortened } from './amounts'
import { readable } from './text'
import { FEE_MAY_RISE, ROUTERS, SOURCES } from '../../clients/typescript/src/generated/rules'

export type Quote = Schemas['SwapQuoteResponse']

const NAME_CHARS = 24
const TITLES: Readonly<Record<string, string>> = SOURCES

export const nameOf = (source: string): string => TITLES[source] ?? readable(source, NAME_CHARS)

/** A router as people read it; its address where this page knows no name. */
export const routerName = (address: string): string => ROUTERS[address.toLowerCase()]?.[0] ?? shortened(address)

export const isKnownRouter = (address: string): boolean => address.toLowerCase() in ROUTERS

export const bestOf = (routes: readonly Route[]): Route | undefined =>
  routes.reduce<Route | undefined>(
    (best, route) => (best && BigInt(best.buyAmount) >= BigInt(route.buyAmount) ? best : route),
    undefined,
  )

/** Whether the token's owner can lower what arrives below the minimum, by a fee that the router does not see. */
export const mayFall = ({ verification: { notes } }: Quote): boolean => notes?.includes(FEE_MAY_RISE) ?? false

/** Names of the sources that answer a quote, as the last answer or the service named them; [] if none did. */
export const sourcesOf = ({ quote, price }: Trade, status: Status | null | undefined): readonly string[] =>
  (quote ?? price)?.sources.map(({ source }) => source) ?? status?.sourceNames ?? []
