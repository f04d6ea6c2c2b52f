// What the page knows of an account: its orders, its balances, and the tokens of both.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, get, type Schemas, type Status, status as readStatus } from './api'
import type { Card } from './cards'
import type { Known } from './views/parts'
import { Following, type Order, type Orders } from './stream'
import { find, type Token } from './tokens'
import { kindWord, standing } from './words'

export const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
const HISTORY = { kind: 'any', limit: '20' }

/** The wallet's orders: those of before, page by page, and what the stream tells. */
export function useOrders(address: string | undefined) {
  const [orders, setOrders] = useState<Orders>(new Map())
  const [isLive, setLive] = useState(false)
  const [isRead, setRead] = useState(false)
  /** No order is older than those that were read. */
  const [isWhole, setWhole] = useState(false)
  const [older, setOlder] = useState<() => void>()
  const [changes, setChanges] = useState(0)
  const following = useRef<Following>(undefined)

  useEffect(() => {
    setOrders(new Map())
    setLive(false)
    setRead(false)
    setWhole(false)
    setOlder(undefined)
    if (address === undefined) return
    let isOver = false
    const changed = (known: Orders): void => {
      setOrders(known)
      setChanges([...known.values()].filter(({ order }) => order.status === 'confirmed').length)
    }
    const now = new Following(address, changed, setLive)
    following.current = now
    const path = `/api/v1/mev/orders/user/${address}`
    // the total of the first page: orders that arrive meanwhile move nothing from one page to the next
    let total = 0
    const page = async (offset: number): Promise<void> => {
      setOlder(undefined)
      const read = await get<Schemas['OrderHistoryResponse']>(path, { ...HISTORY, offset: `${offset}`, asOf: `${offset && total}` })
      if (offset === 0) total = read.total
      for (const { orderId } of read.orders) {
        const order = await get<Order>(`/api/v1/mev/orders/${encodeURIComponent(orderId)}`)
        if (isOver) return
        now.add(order)
      }
      if (isOver) return
      setRead(true)
      const next = read.pagination.nextOffset
      if (read.hasMore && next != null) setOlder(() => () => open(next))
      else setWhole(true)
    }
    // the stream tells what is new; a page that failed is offered again
    const open = (offset: number): void =>
      void page(offset).catch(() => !isOver && setOlder(() => () => open(offset)))
    open(0)
    return () => {
      isOver = true
      now.stop()
    }
  }, [address])

  const placed = useCallback((order: Order) => following.current?.add(order), [])
  return { orders, isLive, isRead, isWhole, older, placed, changes }
}

/** Says each change of an order's state, also for people who do not see the page. */
export function useNews(cards: readonly Card[], say: (text: string) => void): void {
  const told = useRef(new Map<string, string>())
  useEffect(() => {
    const all = cards.map(({ update }) => update.order)
    for (const { key, update } of cards) {
      const { order, finalized } = update
      const now = standing(order, finalized, all)
      const before = told.current.get(key)
      told.current.set(key, now)
      if (before !== undefined && before !== now) {
        say(`${kindWord(order)}: ${now}`)
      }
    }
  }, [cards])
}

const STATUS_MS = 3_000

/** What works at the service; null while it does not answer, undefined before it was asked. */
export function useStatus(): Status | null | undefined {
  const [found, setFound] = useState<Status | null>()
  useEffect(() => {
    let isOver = false
    const read = (): void => {
      if (document.hidden) return
      readStatus().then(
        (now) => !isOver && setFound(now),
        // a request too many says nothing of the service
        (error: ApiError) => !isOver && error.status !== 429 && setFound(null),
      )
    }
    const timer = setInterval(read, STATUS_MS)
    read()
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [])
  return found
}

interface Held {
  eth: string | undefined
  tokens: Record<string, string | null>
  holdings: Array<Schemas['TokenBalance']>
}

/** The service reads at most so many tokens at once. */
const MOST_TOKENS = 50

const NOTHING: Held = { eth: undefined, tokens: {}, holdings: [] }

export function useBalances(
  address: string | undefined,
  wanted: Array<string | undefined>,
  changes: number,
  isNodeUp: boolean,
): Held {
  const [held, setHeld] = useState<Held>(NOTHING)
  const addresses = [...new Set([WETH, ...wanted.filter((one) => one !== undefined)])].slice(0, MOST_TOKENS)
  useEffect(() => {
    setHeld(NOTHING)
  }, [address])
  useEffect(() => {
    if (address === undefined) return
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = (): void => void get<Schemas['BalancesResponse']>(`/api/v1/mev/balances/${address}`, {
      tokens: addresses.join(),
    }).then(
      ({ eth, tokens }) =>
        !isOver &&
        setHeld({
          eth: eth.wei,
          holdings: tokens,
          tokens: Object.fromEntries(tokens.map((one) => [one.address, one.balance])),
        }),
      () => isOver || (timer = setTimeout(read, STATUS_MS)),
    )
    read()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [address, addresses.join(), changes, isNodeUp])
  return held
}

/** Looks up the tokens of orders that the page does not know yet. */
export function useUnknownTokens(orders: Orders, tokens: Known, learn: (token: Token) => void): void {
  const asked = useRef(new Set<string>())
  useEffect(() => {
    for (const { order } of orders.values()) {
      const { fromToken, toToken } = order.orderParams
      for (const address of [fromToken, toToken]) {
        if (tokens[address] || asked.current.has(address)) continue
        asked.current.add(address)
        find(address).then(
          ([token]) => token && learn(token),
          () => asked.current.delete(address),
        )
      }
    }
  }, [orders])
}
