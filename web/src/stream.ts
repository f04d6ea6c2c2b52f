// The orders of one wallet as the service tells them: the event stream, and a read on each gap.

import { get, type Schemas, session } from './api'

export type Order = Schemas['OrderStatusResponse']
export interface Update {
  order: Order
  finalized: boolean
  takenBack: boolean
}

interface Message {
  sequence: number
  type: string
  order: Order
  finality: { depth: number; finalized: boolean }
}

const TYPES = [
  'order.created', 'order.submitted', 'order.mining', 'order.confirmed', 'order.failed',
  'order.cancelled', 'order.reorganised', 'order.finalized',
] // prettier-ignore
const ENDS: readonly string[] = ['confirmed', 'failed', 'cancelled']
export const isOver = ({ status }: Pick<Order, 'status'>): boolean => ENDS.includes(status)
const PATIENCE_MS = 15_000
const AGAIN_MS = 2_000

/** Orders by id. */
export type Orders = ReadonlyMap<string, Update>

export interface Following {
  /** Adds an order that the page knows from elsewhere. */
  add(order: Order): void
  stop(): void
}

/**
 * Follows the wallet's orders until `stop` is called. `changed` gets all known orders;
 * `isLive` says whether the stream is open: what is shown may be old while it is not.
 */
export function follow(
  address: string,
  changed: (orders: Orders) => void,
  isLive: (live: boolean) => void,
): Following {
  let known: Orders = new Map()
  let last = -1
  let source: EventSource | undefined
  let timer: number | undefined
  let stopped = false

  const put = (update: Update): void => {
    known = new Map(known).set(update.order.orderId, update)
    changed(known)
  }

  const take = (event: MessageEvent<string>): void => {
    const message = JSON.parse(event.data) as Message
    if (message.sequence <= last) return
    last = message.sequence
    const { order, finality, type } = message
    const wasTakenBack = known.get(order.orderId)?.takenBack ?? false
    put({
      order,
      finalized: finality.finalized,
      takenBack: type === 'order.reorganised' || (wasTakenBack && !isOver(order)),
    })
  }

  /** Reads what the stream may not have told: open orders, after a gap. */
  const refresh = async (): Promise<void> => {
    for (const { order, finalized } of known.values()) {
      if (finalized) continue
      try {
        const now = await get<Order>(`/api/v1/mev/orders/${encodeURIComponent(order.orderId)}`)
        const before = known.get(order.orderId)
        if (before?.order !== order) continue
        if (now.status !== order.status) {
          put({ order: now, finalized: false, takenBack: order.confirmedAt !== undefined })
        } else if (now.relayAnswer !== order.relayAnswer) {
          put({ ...before, order: now }) // no event tells of it
        }
      } catch {
        return // the next attempt reads again
      }
    }
  }

  const open = (): void => {
    if (stopped) return
    source?.close()
    const query = new URLSearchParams({ userAddress: address })
    if (last >= 0) query.set('after', String(last))
    source = new EventSource(`/api/v1/mev/events?${query.toString()}`)
    source.onopen = () => {
      isLive(true)
      void refresh()
    }
    source.onerror = () => {
      isLive(false)
      // The browser reconnects by itself unless the service refused the stream.
      if (source?.readyState === EventSource.CLOSED) {
        last = -1 // the last event may be deleted by now
        timer = window.setTimeout(() => void session().catch(() => undefined).then(open), AGAIN_MS)
      }
    }
    for (const type of TYPES) source.addEventListener(type, take)
    source.onmessage = take
  }

  // A stream can break without an error; a read every quarter of a minute finds that out.
  const beat = window.setInterval(() => void refresh(), PATIENCE_MS)
  open()
  return {
    add: (order) => {
      if (!known.has(order.orderId)) put({ order, finalized: false, takenBack: false })
    },
    stop: () => {
      stopped = true
      source?.close()
      window.clearTimeout(timer)
      window.clearInterval(beat)
    },
  }
}

/** The order of a transaction hash, once the service has it; undefined if it says so often that it has none. */
export async function orderOf(
  address: string,
  kind: string,
  txHash: string,
  attempts = 10,
): Promise<Order | undefined> {
  for (let answers = 0; answers < attempts; ) {
    const found = await get<{ orders: Array<{ orderId: string; txHash?: string }> }>(
      `/api/v1/mev/orders/user/${address}`,
      { limit: '20', kind },
    ).catch(() => undefined)
    if (found) answers++ // a service that cannot be reached has not said that it has none
    const one = found?.orders.find((order) => order.txHash?.toLowerCase() === txHash)
    if (one) return get<Order>(`/api/v1/mev/orders/${encodeURIComponent(one.orderId)}`)
    await new Promise((wake) => setTimeout(wake, 1_000))
  }
  return undefined
}
