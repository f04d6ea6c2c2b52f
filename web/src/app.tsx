// The page: one card with one button, its evidence beside it, and the orders.

import { render } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks'
import { useBalances, useNews, useOrders, useStatus, useUnknownTokens, WETH } from './account'
import { cancel, speedUp } from './actions'
import { useCalls } from './calls'
import { cardOf, cardsOf } from './cards'
import { useWallets, type Connection } from './connection'
import { keepFocus } from './focus'
import { useFlow, flowOf } from './flow'
import { useLinked } from './link'
import { usePrivacy } from './privacy'
import { remember, remembered } from './remembered'
import { sourcesOf } from './quote'
import type { Order } from './stream'
import { forget, sentOf } from './submit'
import { etherOf, type Token } from './tokens'
import { Desk } from './trade/desk'
import { primaryOf, stateOf, type World } from './trade/primary'
import { Page, type PageProps } from './views/page'
import type { Known } from './views/parts'
import { usualSlippage } from './views/settings'

/** The desk of the page, rendered at each of its changes. */
function useDesk(): Desk {
  const desk = useMemo(() => new Desk(usualSlippage()), [])
  const [, render] = useState(0)
  useLayoutEffect(() => desk.subscribe(() => render((count) => count + 1)), [])
  return desk
}

/** The tokens that the page has read. */
function useKnown() {
  const [tokens, setTokens] = useState<Known>({})
  const learn = useCallback((token: Token): Token => {
    if (!token.wrapped) setTokens((known) => ({ ...known, [token.address]: token }))
    return token
  }, [])
  return { tokens, learn }
}

const units = (text: string | null | undefined): bigint | undefined => (text == null ? undefined : BigInt(text))

/** Balances of what the form and the orders trade. */
function useHeld(connection: Connection | undefined, desk: Desk, isNodeUp: boolean, { orders, changes }: ReturnType<typeof useOrders>) {
  const { sell, buy } = desk.trade
  const traded = [...orders.values()].flatMap(({ order: { kind, orderParams: of } }) =>
    kind === 'swap' || kind === 'approval' ? [of.fromToken, of.toToken] : [],
  )
  const held = useBalances(connection?.address, [sell?.address, buy?.address, ...traded], changes, isNodeUp)
  const balance = (token: Token | undefined): bigint | undefined =>
    token && units(token.wrapped ? held.eth : held.tokens[token.address])
  return { holdings: held.holdings, ether: units(held.eth), paid: balance(sell), received: balance(buy) }
}

/** The order that is followed, over reloads. */
function useFollowed(desk: Desk, address: string | undefined, isRead: boolean, cards: PageProps['cards']) {
  const name = `following.${address?.toLowerCase() ?? ''}`
  const { phase, orderId } = desk.trade
  useEffect(() => {
    const kept = address && isRead ? remembered(name) : ''
    if (kept && cardOf(cards, kept)) desk.dispatch({ type: 'follow', orderId: kept })
  }, [address, isRead])
  useEffect(() => {
    if (address && isRead) remember(name, phase === 'following' ? orderId : '')
  }, [phase, orderId])
}

/** What a swap with ETH leaves to be done, and how the form goes on with it. */
function useTwoSteps(desk: Desk, connection: Connection | undefined, account: ReturnType<typeof useOrders>, cards: PageProps['cards'], weth: Token | undefined) {
  const { flow, order, keep, asks } = useFlow(connection?.address, cards, account.placed)
  const { trade } = desk
  const isOfForm = trade.sell?.address === WETH && trade.amount === flow?.amount && trade.buy?.address === flow.buy
  const isWrapped = flow?.first === 'wrap' && order?.status === 'confirmed'
  useLayoutEffect(() => {
    // goes on by itself if the form still says what was wrapped
    if (isOfForm && isWrapped && weth && trade.sell?.wrapped) desk.dispatch({ type: 'swapWrapped', sell: weth })
  }, [isWrapped, trade.phase])
  return { flow, order, keep, asks, isOfForm, isWrapped }
}

/** Tells the desk what is around it, after each render. */
function useSurroundings(desk: Desk, props: Pick<PageProps, 'connection' | 'sending' | 'status' | 'calls' | 'account'>, two: ReturnType<typeof useTwoSteps>): void {
  const { connection, sending, status, calls, account } = props
  useLayoutEffect(() =>
    desk.surround({
      connection,
      privacy: sending.privacy,
      isNodeUp: status !== null && status?.node !== false,
      canBatch: calls.can,
      isHeld: calls.isHeld,
      orders: account.orders,
      changes: account.changes,
      isBatchOpen: calls.isOpen,
      sendBatch: calls.send,
      placed: account.placed,
      asks: (first, of) => two.asks(first && account.isRead ? flowOf(first, '', of, connection, account.orders) : undefined),
      began: (first, order, of) => {
        const next = first && flowOf(first, order.orderId, of, connection, account.orders)
        if (next) two.keep(next)
        else if (two.flow?.first === 'wrap' && of.sell?.address === WETH && !of.sell.wrapped) two.keep(undefined)
      },
      scrollToAction: () =>
        requestAnimationFrame(() => document.querySelector('.card .go')?.scrollIntoView({ block: 'nearest' })),
    }),
  )
}

/** What the button of the card depends on. */
const worldOf = ({ connection, sending, status, held, calls, trade }: Omit<PageProps, 'world' | 'primary' | 'state'>, isWrapping: boolean): World => ({
  isConnected: connection !== undefined,
  privacy: sending.privacy,
  service: status,
  balance: held.paid,
  ether: held.ether,
  canBatch: calls.can,
  isAskedToBatch: calls.isAsking,
  isHeld: calls.isHeld,
  isWrapping,
  sources: sourcesOf(trade, status).length,
  wallet: connection?.wallet.name ?? 'your wallet',
})

function App() {
  const [connection, setConnection] = useState<Connection>()
  const [said, say] = useState('')
  const [news, tell] = useState('')
  const desk = useDesk()
  const { tokens, learn } = useKnown()
  const link = useLinked(desk, learn)
  const wallets = useWallets(connection, setConnection, say)
  const sending = usePrivacy(connection)
  const account = useOrders(connection?.address)
  const { orders, placed } = account
  const cards = useMemo(() => cardsOf(orders), [orders])
  useNews(cards, (text) => {
    say('')
    tell(text)
  })
  useUnknownTokens(orders, tokens, learn)
  const status = useStatus()
  const isNodeUp = status !== null && status?.node !== false
  const held = useHeld(connection, desk, isNodeUp, account)
  const calls = useCalls(connection, desk.trade, say)
  const weth = tokens[WETH]
  const two = useTwoSteps(desk, connection, account, cards, weth)
  useFollowed(desk, connection?.address, account.isRead, cards)
  useSurroundings(desk, { connection, sending, status, calls, account }, two)
  useEffect(() => {
    for (const { order, finalized } of orders.values()) if (finalized) forget(order.txHash)
  }, [orders])
  const context = { connection, orders, placed, say }
  const { trade } = desk
  const props = {
    desk, trade, wallets, sending, account, cards, tokens, status, held, calls, said, news, connection, learn, weth, two, link,
    ether: weth && etherOf(weth),
    cancel: (orderId: string, show: (text: string) => void) => cancel(context, orderId, show),
    faster: (order: Order) => {
      const sent = sentOf(order.txHash)
      return sent && ((show: (text: string) => void) => speedUp(context, order, sent, show))
    },
  } // prettier-ignore
  const world = worldOf(props, two.flow?.first === 'wrap' && !two.isWrapped)
  return <Page {...props} world={world} primary={primaryOf(trade, world)} state={stateOf(trade, world)} />
}

const root = document.getElementById('app')
if (root) {
  root.replaceChildren() // what index.html shows until now
  root.removeAttribute('aria-busy')
  render(<App />, root)
  keepFocus(root)
}
