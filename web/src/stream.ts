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
/** Whether no relay got it: it ended without being sent, and names no transaction. */
export const isUnsent = ({ status, txHash }: { status: Order['status']; txHash?: string | null | undefined }): boolean =>
  status === 'failed' && !txHash
const PATIENCE_MS = 15_000
const AGAIN_MS = 2_000

/** Orders by id. */
export type Orders = ReadonlyMap<string, Update>

/**
 * Follows the wallet's orders until `stop` is called. `changed` gets all known orders;
 * `isLive` says whether the stream is open: what is shown may be old while it is not.
 */
export class Following {
  private orders: Orders = new Map()
  private last = -1
  private source: EventSource | undefined
  private timer: number | undefined
  private isStopped = false
  // A stream can break without an error; a read every quarter of a minute finds that out.
  private readonly beat = window.setInterval(() => void this.refresh(), PATIENCE_MS)

  constructor(
    private readonly address: string,
    private readonly changed: (orders: Orders) => void,
    private readonly isLive: (live: boolean) => void,
  ) {
    this.open()
  }

  /** Adds an order that the page knows from elsewhere. */
  add(order: Order): void {
    if (!this.orders.has(order.orderId)) this.put({ order, finalized: false, takenBack: false })
  }

  stop(): void {
    this.isStopped = true
    this.source?.close()
    window.clearTimeout(this.timer)
    window.clearInterval(this.beat)
  }

  private put(update: Update): void {
    this.orders = new Map(this.orders).set(update.order.orderId, update)
    this.changed(this.orders)
  }

  private readonly take = (event: MessageEvent<string>): void => {
    const message = JSON.parse(event.data) as Message
    if (message.sequence <= this.last) return
    this.last = message.sequence
    const { order, finality, type } = message
    const wasTakenBack = this.orders.get(order.orderId)?.takenBack ?? false
    this.put({
      order,
      finalized: finality.finalized,
      takenBack: type === 'order.reorganised' || (wasTakenBack && !isOver(order)),
    })
  }

  /** Reads what the stream may not have told: open orders, after a gap. */
  private async refresh(): Promise<void> {
    for (const { order, finalized } of this.orders.values()) {
      if (finalized) continue
      try {
        const now = await get<Order>(`/api/v1/mev/orders/${encodeURIComponent(order.orderId)}`)
        const before = this.orders.get(order.orderId)
        if (before?.order !== order) continue
        if (now.status !== order.status) {
          this.put({ order: now, finalized: false, takenBack: order.confirmedAt !== undefined })
        } else if (now.relayAnswer !== order.relayAnswer) {
          this.put({ ...before, order: now }) // no event tells of it
        }
      } catch {
        return // the next attempt reads again
      }
    }
  }

  private open(): void {
    if (this.isStopped) return
    this.source?.close()
    const query = new URLSearchParams({ userAddress: this.address })
    if (this.last >= 0) query.set('after', String(this.last))
    const source = new EventSource(`/api/v1/mev/events?${query.toString()}`)
    this.source = source
    source.onopen = () => {
      this.isLive(true)
      void this.refresh()
    }
    source.onerror = () => this.broken(source)
    for (const type of TYPES) source.addEventListener(type, this.take)
    source.onmessage = this.take
  }

  /** The browser reconnects by itself unless the service refused the stream. */
  private broken(source: EventSource): void {
    this.isLive(false)
    if (source.readyState !== EventSource.CLOSED) return
    this.last = -1 // the last event may be deleted by now
    this.timer = window.setTimeout(() => void session().catch(() => undefined).then(() => this.open()), AGAIN_MS)
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
