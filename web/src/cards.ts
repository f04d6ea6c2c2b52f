// The orders as cards: a swap with its wrap, approvals and cancel, and all transactions that were sent for it.

import { WETH } from '../../clients/typescript/src/generated/rules'
import { isOver, type Order, type Orders, type Update } from './stream'

/** One swap, wrap or other step, with all transactions that were sent for it. */
export interface Card {
  key: string
  ids: string[]
  /** What became of it: the transaction that a block has, else the newest that is open. */
  update: Update
  /** Approvals and resets before a swap, oldest first. */
  approvals: Order[]
  /** The wrap before a swap of ETH. It has a card, too: a person may have stopped after it. */
  wrap: Order | undefined
  /** The cancel of a swap, an empty transaction with its nonce: the one that a block has, else the newest. */
  cancel: Order | undefined
}

/** The orders as cards, newest first: a speed-up is the same swap again, with its nonce. */
export function cardsOf(orders: Orders): Card[] {
  const cards = new Map<string, Card>()
  const newest = [...orders.values()].sort((a, b) => (a.order.createdAt < b.order.createdAt ? 1 : -1))
  for (const update of newest) {
    const { orderId, kind, nonce, orderParams: of } = update.order
    const terms = [nonce, of.fromToken, of.toToken, of.amount, of.minReturnAmount].join()
    const key = kind === 'swap' && nonce !== undefined ? terms : orderId
    const known = cards.get(key)
    const isNews = !known || weight(update.order) > weight(known.update.order)
    cards.set(key, {
      key,
      ids: [...(known?.ids ?? []), orderId],
      update: isNews ? update : known.update,
      approvals: [],
      wrap: undefined,
      cancel: undefined,
    })
  }
  return folded([...cards.values()])
}

const HOUR_MS = 3_600_000

/** Puts each approval and cancel to the swap that it was made for; the others keep a card of their own. */
function folded(cards: Card[]): Card[] {
  const swaps = cards.filter(({ update }) => update.order.kind === 'swap').reverse()
  const taken = new Set<Card>()
  for (const card of cards) {
    const { order } = card.update
    if (isWrapOfEther(order)) {
      const swap = swapAfter(swaps, order, (sold) => sold.fromToken === WETH && sold.amount === order.orderParams.amount)
      if (swap) swap.wrap = order
      continue
    }
    const swap =
      order.kind === 'approval'
        ? swapAfter(swaps, order, ({ fromToken }) => fromToken === order.orderParams.fromToken)
        : order.kind === 'cancel'
          ? swapOf(swaps, order)
          : undefined
    if (!swap) continue
    taken.add(card)
    if (order.kind === 'approval') swap.approvals.unshift(order)
    else if (!swap.cancel || weight(order) > weight(swap.cancel)) swap.cancel = order
  }
  return cards.filter((card) => !taken.has(card))
}

/** The first swap within the hour after a step that `isFor` it; `swaps`: oldest first. */
const swapAfter = (swaps: readonly Card[], { createdAt }: Order, isFor: (sold: Order['orderParams']) => boolean): Card | undefined =>
  swaps.find(({ update: { order } }) => {
    const later = Date.parse(order.createdAt) - Date.parse(createdAt)
    return isFor(order.orderParams) && later > 0 && later < HOUR_MS
  })

const isWrapOfEther = ({ kind, status, orderParams }: Order): boolean =>
  kind === 'wrap' && status === 'confirmed' && orderParams.toToken === WETH

/** The cards that have a row of their own: all but the wrap of a swap. */
export function rowsOf(cards: readonly Card[]): Card[] {
  const wraps = new Set(cards.map(({ wrap }) => wrap?.orderId))
  return cards.filter(({ key }) => !wraps.has(key))
}

/** Whether ETH was paid: wrapped before the swap, or in its transaction. */
export const isPaidInEther = ({ wrap, update: { order } }: Card): boolean =>
  wrap !== undefined || order.conversion === 'wrap'

const swapOf = (swaps: readonly Card[], { nonce }: Order): Card | undefined =>
  swaps.find(({ update }) => nonce !== undefined && update.order.nonce === nonce)

const weight = (order: Order): number => (isMined(order) ? 2 : isOver(order) ? 0 : 1)

export const isMined = ({ status, error }: Order): boolean =>
  status === 'confirmed' || error?.blockNumber !== undefined

export const cardOf = (cards: readonly Card[], orderId: string): Card | undefined =>
  cards.find(({ ids }) => ids.includes(orderId))

/** Whether a cancel of it was sent that no block has yet. */
export const isCancelling = ({ cancel }: Card): boolean => cancel !== undefined && !isOver(cancel)

/** Whether nothing can happen to it any more, as the service knows it. */
export const isDecided = ({ update: { order } }: Card): boolean => isOver(order) && !order.error?.mayBeMined

/** The orders whose nonces come before that of an open order, and may still be unused. */
export function before({ order }: Update, cards: readonly Card[]): Order[] {
  const { nonce } = order
  if (nonce === undefined || isOver(order)) return []
  const all = cards.flatMap(({ update, approvals, cancel }) => [update.order, ...approvals, ...(cancel ? [cancel] : [])])
  const used = all.filter(isMined).map((order) => order.nonce)
  return all
    .filter((other) => other.nonce !== undefined && other.nonce < nonce && !used.includes(other.nonce))
    .filter((other) => !isOver(other) || other.error?.mayBeMined)
    .sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0))
}
