// Which contracts 0x's router may call: read where a route goes through it, at the node of the wallet.

import { SETTLERS } from '../../../clients/typescript/src/generated/rules'
import { ALLOWANCE_HOLDER, settlersIn } from '../../../clients/typescript/src/quote-checks'
import type { Quote } from '../quote'
import { ask, type Provider } from '../wallet'

/** 0x's genuine Settlers for a quote through its router; none for another one, or where they cannot be read. */
export async function settlersOf(provider: Provider, quote: Quote | undefined): Promise<string[]> {
  if (quote?.dexRoute.target.toLowerCase() !== ALLOWANCE_HOLDER) return []
  const [deployer, ...calls] = SETTLERS
  const read = (data: string): Promise<unknown> =>
    ask<unknown>(provider, 'eth_call', [{ to: deployer, data }, 'latest']).catch(() => undefined)
  const [current, previous] = await Promise.all(calls.map(read))
  return settlersIn(current, previous)
}
