// What a link names: the pair and the amount; and the first session of a visit.

import { useEffect, useState } from 'preact/hooks'
import { WETH } from './account'
import { session as beginSession } from './api'
import { etherOf, find, isUnlisted, type Token } from './tokens'
import type { Desk } from './trade/desk'

const LINKED = new URLSearchParams(location.search)
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const AGAIN_MS = 3_000

export interface Linked {
  /** The tokens of the link are not read yet. */
  isReading: boolean
  /** Why nothing could be read; '' for no trouble. */
  trouble: string
  /** What the link named and the page could not read. */
  unread: ReadonlyArray<'sell' | 'buy'>
}

/** Begins a session, so that tokens can be looked at before a wallet is connected, and fills the form. */
export function useLinked(desk: Desk, learn: (token: Token) => Token): Linked {
  const [linked, setLinked] = useState<Linked>({ isReading: true, trouble: '', unread: [] })
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const begin = async (): Promise<void> => {
      try {
        await beginSession()
        const [weth] = await find(WETH)
        if (weth) learn(weth)
        const [sell, buy] = await Promise.all([tokenOf('sell', 'eth', weth), tokenOf('buy', USDC, weth)])
        if (sell) learn(sell)
        if (buy) learn(buy)
        const amount = desk.trade.amount || (LINKED.get('amount') ?? '').slice(0, 80)
        desk.dispatch({ type: 'edit', form: { sell, buy, amount } })
        setLinked({ isReading: false, trouble: '', unread: [...(sell ? [] : (['sell'] as const)), ...(buy ? [] : (['buy'] as const))] })
      } catch (error) {
        setLinked({ isReading: false, trouble: (error as Error).message, unread: [] })
        timer = setTimeout(() => void begin(), AGAIN_MS)
      }
    }
    void begin()
    return () => clearTimeout(timer)
  }, [])
  return linked
}

/** The token that the page's link names, or the usual one. A symbol names only a listed token. */
async function tokenOf(name: 'sell' | 'buy', usual: string, weth: Token | undefined): Promise<Token | undefined> {
  const text = (LINKED.get(name) ?? usual).trim().slice(0, 100).toLowerCase()
  if (text === '') return undefined
  if (text === 'eth') return weth && etherOf(weth)
  if (text === WETH.toLowerCase()) return weth
  const tokens = (await find(text)).filter(
    (token) =>
      token.address.toLowerCase() === text || (token.symbol.toLowerCase() === text && !isUnlisted(token)),
  )
  return tokens.length === 1 ? tokens[0] : undefined
}
