// Approve and swap in one question of the wallet (EIP-5792), with ETH a wrap or unwrap, too. What it sends is the batched form of the
// quote, or the service refuses it. Until it is known what became of it, no other swap is signed.

import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { get, now } from './api'
import type { Connection } from './connection'
import { answerOf, type Capabilities, type Fate, fateOf, isAtomic, stuckOf, type Swap, type Told, UNKNOWN_ID } from './fate'
import type { Quote } from './quote'
import { remember, remembered } from './remembered'
import type { Order } from './stream'
import type { callsOf } from './trade/plan'
import type { Trade as Wanted } from './trade/machine'
import { alone, assertWanted, newest, newestTime, type Outcome } from './submit'
import { readable, sentence } from './text'
import { ask, askSoon, hex, WalletError } from './wallet'

type Trade = Pick<Quote, 'sellToken' | 'buyToken' | 'sellAmount' | 'buyAmount'>

/** What a wallet was asked, from just before until it is known what became of it. */
interface Batch extends Trade {
  /** Names it in `wallet_getCallsStatus`. */
  id: string
  /** The calldata of the one transaction that the service takes for it, lower case. */
  data: string
  /** When the newest swap before it was made, by the service's clock; '' without one. */
  after: string
  /** Unix ms by the service's clock; from then on the service refuses it, and has stored what it took before. */
  until: number
}

const TEXTS = ['id', 'data', 'after', 'sellToken', 'buyToken', 'sellAmount', 'buyAmount'] as const
const VERSION = '2.0.0'
const AGAIN_MS = 3_000
const ATTEMPTS = 10
/** For what the service got in the last moment: it checks it before it stores the order. */
const CHECKS_S = 30

/** A wallet that said it can and then cannot: it sent nothing. */
class CannotBatch extends Error {}

const nameOf = (address: string): string => `calls.${address.toLowerCase()}`

/** What is remembered for an account; undefined without anything. */
function pending(address: string | undefined): Batch | undefined {
  try {
    const batch = JSON.parse(remembered(nameOf(address ?? ''))) as Batch
    const isText = TEXTS.every((name) => typeof batch[name] === 'string')
    return isText && typeof batch.until === 'number' ? batch : undefined
  } catch {
    return undefined
  }
}

const keep = (address: string, batch: Batch | undefined): void =>
  remember(nameOf(address), batch ? JSON.stringify(batch) : '')

/** Whether the wallet's account batches calls already. */
async function batches(connection: Connection): Promise<boolean> {
  const chain = hex(connection.session.chainId)
  const asked = [connection.address.toLowerCase(), [chain]]
  const found = await askSoon<Capabilities>(connection.wallet.provider, 'wallet_getCapabilities', asked).catch(() => null)
  return isAtomic(found, chain)
}

/** The orders that a batch may have become; undefined if the service does not answer. */
async function ordersOf(connection: Connection, batch: Batch): Promise<Swap[] | undefined> {
  const all = await newest(connection.address, 'swap').catch(() => undefined)
  const same = all?.filter(({ createdAt, summary: of }) => createdAt > batch.after && isSame(of, batch))
  if (!same) return undefined
  const others = await Promise.all(same.map((one) => isOther(connection, one, batch)))
  return same.filter((_, index) => !others[index])
}

/** Whether an order of the same trade is certainly another transaction: one that came by another door. */
async function isOther({ wallet }: Connection, { txHash }: Swap, { data }: Batch): Promise<boolean> {
  const read = askSoon<{ input?: unknown } | null>(wallet.provider, 'eth_getTransactionByHash', [txHash])
  const input = (await read.catch(() => undefined))?.input
  return typeof input === 'string' && input.toLowerCase() !== data
}

const isSame = (one: Trade, other: Trade): boolean =>
  one.sellToken === other.sellToken &&
  one.buyToken === other.buyToken &&
  one.sellAmount === other.sellAmount &&
  one.buyAmount === other.buyAmount

/** Asks the wallet for exactly the calls of the quote's batch; returns the order it became. */
const sendCalls = (...sent: Parameters<typeof once>): Promise<Order> => alone(() => once(...sent))

type Calls = ReturnType<typeof callsOf>

interface Steps {
  isStill(): boolean
  asks?(after: string): void
  signed?(): void
}

const randomId = (): string =>
  `0x${[...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`

async function once(connection: Connection, quote: Quote, calls: Calls, steps: Steps): Promise<Order> {
  const { address, session } = connection
  const { sellToken, buyToken, sellAmount, buyAmount } = quote
  const data = quote.batch?.transactionParams?.data.toLowerCase() ?? ''
  const before = pending(address)?.id
  const after = await newestTime(address, 'swap')
  await assertWanted(connection, steps.isStill)
  const until = now() + (session.takenSeconds + CHECKS_S) * 1_000
  const batch: Batch = { id: randomId(), data, after, sellToken, buyToken, sellAmount, buyAmount, until }
  if (pending(address)?.id !== before) {
    throw new Error('Another tab of this page asks your wallet already. Nothing was sent.')
  }
  keep(address, batch)
  if (!pending(address)) throw new CannotBatch('This browser keeps nothing for this page.')
  steps.asks?.(after)
  try {
    const answer = await askForCalls(connection, calls, batch.id)
    const named = (answer as { id?: unknown } | null)?.id ?? answer
    if (typeof named === 'string' && named !== '') batch.id = named.slice(0, 4_096)
    keep(address, batch)
    steps.signed?.()
  } catch (error) {
    // The service is the judge of what it has, whatever the wallet says.
    const answer = answerOf(await ordersOf(connection, batch), error as WalletError)
    if (answer === 'cannot' || answer === 'declined') keep(address, undefined)
    if (answer === 'cannot') throw new CannotBatch(`The wallet says: ${sentence((error as WalletError).message)}`)
    if (answer !== 'sent') throw error
  }
  return orderOfBatch(connection, batch)
}

/** Lets the wallet show the calls. Raises WalletError. */
function askForCalls({ wallet, address, session }: Connection, calls: Calls, id: string): Promise<unknown> {
  return ask<unknown>(wallet.provider, 'wallet_sendCalls', [
    {
      version: VERSION,
      id,
      chainId: hex(session.chainId),
      from: address.toLowerCase(),
      atomicRequired: true,
      calls: calls.map(({ to, value, data }) => ({ to, value: hex(value), data })),
    },
  ])
}

/** The order that a batch became. Raises an Error if none appears. */
async function orderOfBatch(connection: Connection, batch: Batch): Promise<Order> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [last] = (await ordersOf(connection, batch)) ?? []
    if (last) return get<Order>(`/api/v1/mev/orders/${encodeURIComponent(last.orderId)}`)
    await new Promise((wake) => setTimeout(wake, 1_000))
  }
  throw new Error('Your wallet took it, and this service did not get it.')
}

interface Status {
  status?: unknown
  receipts?: Array<{ transactionHash?: unknown }>
}

/** What the wallet says of a batch. */
async function told({ wallet }: Connection, id: string): Promise<Told> {
  try {
    const found = await askSoon<Status | null>(wallet.provider, 'wallet_getCallsStatus', [id])
    const hashes = (found?.receipts ?? []).map((one) => readable(one.transactionHash, 80).toLowerCase())
    return { code: Number(found?.status) || 0, hashes }
  } catch (error) {
    const isUnknown = error instanceof WalletError && error.code === UNKNOWN_ID
    return { code: isUnknown ? UNKNOWN_ID : 0, hashes: [] }
  }
}

/** Follows what became of the last batch of an account, over reloads. */
function useFate(connection: Connection | undefined, isOver: (isSent: boolean) => void) {
  const address = connection?.address
  const [batch, setBatch] = useState(() => pending(address))
  /** undefined: nobody has looked yet. */
  const [fate, setFate] = useState<Fate>()
  const [seen, setSeen] = useState(now)

  const take = (next: Batch | undefined, known?: Fate): void => {
    setBatch(next)
    setFate(known)
  }
  const end = (isSent: boolean): void => {
    if (address) keep(address, undefined)
    take(undefined)
    isOver(isSent)
  }
  useLayoutEffect(() => take(pending(address)), [address])
  useEffect(() => {
    if (!batch || !connection) return
    let isGone = false
    const look = async (): Promise<void> => {
      const isLate = now() > batch.until // before the orders are read
      const words = await told(connection, batch.id)
      const has = await ordersOf(connection, batch)
      if (isGone) return
      const kept = pending(address) // another tab may know more
      if (kept?.id !== batch.id) return take(kept)
      const next = fateOf(has, words, isLate)
      setSeen(now())
      setFate(next)
      if (next === 'over' || next === 'not sent') end(next === 'over')
    }
    let timer: ReturnType<typeof setTimeout>
    const again = (): unknown => isGone || (timer = setTimeout(() => void look().then(again), AGAIN_MS))
    void look().then(again)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [batch?.id])
  return { batch, fate, seen, take }
}

/** Approve and swap in one question, and what became of the last one, over reloads. */
export function useCalls(connection: Connection | undefined, wanted: Wanted, say: (text: string) => void) {
  const address = connection?.address
  const [can, setCan] = useState<boolean>()
  const isOffered = isBatchOf(wanted)
  const { batch, fate, seen, take } = useFate(connection, (isSent) => {
    if (isSent) return
    setCan(false)
    say('Your wallet did not send it, and no order here is open for it. Go on in separate steps.')
  })

  useLayoutEffect(() => setCan(undefined), [address])
  useEffect(() => {
    if (!isOffered || can !== undefined || !connection) return
    void batches(connection).then(setCan)
  }, [isOffered, can, connection])

  /** Looks at what is remembered, also by another tab; whether something may still be sent. */
  const isOpen = (): boolean => {
    const kept = pending(address)
    if (kept?.id === batch?.id) return kept !== undefined && fate !== 'has'
    take(kept)
    return kept !== undefined
  }

  const send = async (...sent: Parameters<typeof once>): Promise<Outcome> => {
    try {
      const order = await sendCalls(...sent)
      take(pending(address), 'has')
      return { order, otherwise: '' }
    } catch (error) {
      take(pending(address), 'open')
      if (!(error instanceof CannotBatch)) throw error
      setCan(false)
      throw new Error(`Your wallet cannot do it in one transaction. Nothing was sent. Go on in separate steps. ${error.message}`)
    }
  }

  const goOn = (): void => {
    if (address) keep(address, undefined)
    take(undefined)
    setCan(false)
  }
  const isHeld = batch !== undefined && fate !== 'has'
  const stuck = stuckOf(batch, fate, seen)
  return { can: isOffered && can === true, isAsking: isOffered && can === undefined, isHeld, isOpen, send, stuck, goOn }
}

/** Whether a quote has a batched form that its wallet needs. */
const isBatchOf = ({ quote, sell }: Wanted): boolean => {
  const issues = quote?.issues
  const isThere = !issues?.balance || sell?.wrapped !== undefined // what is wrapped is no WETH yet
  return quote?.batch?.transactionParams != null && !!issues?.allowance && isThere && !issues.gas
}
