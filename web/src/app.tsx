// The page: connect, private connection, swap or wrap, and what became of it.

import { render } from 'preact'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { useBalances, useNews, useOrders, useStatus, useUnknownTokens, WETH } from './account'
import { post, type Schemas, session as beginSession } from './api'
import { assertPrivate, Connect, type Connection, PrivateRpc, type Privacy } from './connect'
import { Allowances } from './allowances'
import { cardsOf, OrderCard, Sum } from './orders'
import { Fault, type Known } from './parts'
import { cancelFaults } from '../../clients/typescript/src/params'
import { keepFocus } from './focus'
import { etherOf, type Flow, Second, useFlow } from './native'
import { parse } from './amounts'
import { Colours } from './settings'
import { failureText, forget, raised, type Sent, sendPrivately, sentOf } from './submit'
import type { Order } from './stream'
import { Swap } from './swap'
import { find, type Token } from './tokens'
import { send, WalletError } from './wallet'
import { Wrap } from './wrap'

const LINKED = new URLSearchParams(location.search)
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

function App() {
  const [connection, setConnection] = useState<Connection>()
  const [privacy, setPrivacy] = useState<Privacy>('checking')
  const [said, say] = useState('')
  const [tab, setTab] = useState<'swap' | 'wrap'>('swap')
  const [tokens, setTokens] = useState<Known>({})
  const [sell, setSell] = useState<Token>()
  const [buy, setBuy] = useState<Token>()
  const [trouble, setTrouble] = useState<string>()
  const [unread, setUnread] = useState<string[]>([])
  const [amount, setAmount] = useState((LINKED.get('amount') ?? '').slice(0, 80))

  const learn = useCallback((token: Token): Token => {
    if (!token.wrapped) setTokens((known) => ({ ...known, [token.address]: token }))
    return token
  }, [])

  // A session first: tokens can be looked at before a wallet is connected.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const begin = async (): Promise<void> => {
      try {
        await beginSession()
        const [weth] = await find(WETH)
        if (weth) learn(weth)
        const [first, second] = await Promise.all([
          linked('sell', WETH, weth),
          linked('buy', USDC, weth),
        ])
        if (first) setSell(learn(first))
        if (second) setBuy(learn(second))
        setUnread([...(first ? [] : ['sell']), ...(second ? [] : ['buy'])])
        setTrouble(undefined)
      } catch (error) {
        setTrouble((error as Error).message)
        timer = setTimeout(() => void begin(), 3_000)
      }
    }
    void begin()
    return () => clearTimeout(timer)
  }, [])

  const connected = useCallback((next: Connection | undefined) => {
    setPrivacy('checking')
    setConnection(next)
  }, [])

  const { orders, isLive, isRead, isWhole, older, placed, changes } = useOrders(connection?.address)
  const cards = useMemo(() => cardsOf(orders), [orders])
  useNews(cards, say)
  const weth = tokens[WETH]
  const { flow, order: firstOrder, keep, asks } = useFlow(connection?.address, cards, placed)
  const traded = [...orders.values()].flatMap(({ order: { kind, orderParams: of } }) =>
    kind === 'swap' || kind === 'approval' ? [of.fromToken, of.toToken] : [],
  )
  const held = useBalances(connection?.address, [sell?.address, buy?.address, ...traded], changes)
  useUnknownTokens(orders, tokens, learn)
  const status = useStatus()

  const swapOfWrapped = (): void => {
    if (!flow || !weth) return
    setSell(weth)
    setAmount(flow.amount)
    find(flow.buy).then(([token]) => token && setBuy(learn(token)), () => undefined)
  }
  // Goes on by itself if the form still says what was wrapped.
  const isOfForm = sell?.address === WETH && amount === flow?.amount && buy?.address === flow.buy
  const isWrapped = flow?.first === 'wrap' && firstOrder?.status === 'confirmed'
  useEffect(() => {
    if (isOfForm && isWrapped) setSell(weth)
  }, [isWrapped])

  /** What a wrap or a swap leaves to be done; undefined for nothing. */
  const flowOf = (first: Flow['first'], orderId: string): Flow | undefined => {
    if (!connection || !sell || !buy || !(first === 'wrap' || buy.wrapped)) return undefined
    return {
      address: connection.address.toLowerCase(),
      first,
      orderId,
      sell: sell.address,
      buy: buy.address,
      amount,
      units: String(parse(amount, sell.decimals)),
      after: [...orders.values()].map(({ order }) => order.createdAt).sort().at(-1) ?? '',
    }
  }
  const began = (first: Flow['first'], { orderId }: Order): void => {
    const next = flowOf(first, orderId)
    if (next) keep(next)
    else if (flow?.first === 'wrap' && sell?.address === WETH) keep(undefined)
  }

  /** `tell` shows what must stay in sight; the status line is replaced by the next event. */
  const cancel = async (orderId: string, tell: (text: string) => void): Promise<void> => {
    if (!connection) return
    tell('')
    try {
      const path = `/api/v1/mev/orders/${encodeURIComponent(orderId)}/cancel`
      const { transactionParams } = await post<Schemas['CancelQuoteResponse']>(path)
      const nonce = sentOf(orders.get(orderId)?.order.txHash)?.nonce
      const faults = cancelFaults(transactionParams, connection.address, nonce)
      if (faults.length) return tell(`The cancel has ${faults.join(', ')}. Nothing was sent.`)
      if (nonce === undefined) {
        tell(
          `This page did not send the order and cannot check its nonce, ${transactionParams.nonce}: ` +
            'compare it in your wallet, or cancel there.',
        )
      } else say('Confirm the cancel in your wallet: an empty transaction with the same nonce.')
      await assertPrivate(connection)
      await send(connection.wallet.provider, connection.address.toLowerCase(), transactionParams)
      tell('')
      say('The cancel is under way. Whichever of the two is mined first decides.')
    } catch (error) {
      say('')
      const isRejection = error instanceof WalletError && error.isRejection
      tell(isRejection ? 'You declined the cancel. The order goes on.' : (error as Error).message)
    }
  }

  /** The same transaction with a higher fee cap, for a base fee above the cap. */
  const speedUp = async (sent: Sent, tell: (text: string) => void): Promise<void> => {
    if (!connection) return
    tell('')
    try {
      say('Confirm in your wallet: the same swap with a higher fee cap.')
      const next = { ...sent, maxFeePerGas: raised(sent.maxFeePerGas) }
      placed(await sendPrivately(connection, 'swap', next, () => true))
      say('The swap is sent again with a higher fee cap. Only one of the two can be mined.')
    } catch (error) {
      say('')
      tell(failureText(error))
    }
  }

  const faster = ({ txHash }: Order) => {
    const sent = sents.get(txHash)
    return sent && ((tell: (text: string) => void) => void speedUp(sent, tell))
  }
  useEffect(() => {
    for (const { order, finalized } of orders.values()) if (finalized) forget(order.txHash)
  }, [orders])

  const sents = new Map(cards.map(({ update: { order } }) => [order.txHash, sentOf(order.txHash)]))
  return (
    <>
      <header>
        <h1>quietswap</h1>
        <Connect connection={connection} connected={connected} say={say} />
      </header>
      <main>
        <p role="status" aria-live="polite" class="said">
          {said}
        </p>
        <Fault text={trouble} />
        {unread.filter((name) => !(name === 'sell' ? sell : buy)).map((name) => (
          <Fault
            key={name}
            text={`The link's “${name}” is neither the address of a token nor the symbol of one listed token: choose it yourself.`}
          />
        ))}
        {!connection && (
          <p class="intro">
            Swap tokens on Ethereum past the public mempool. This page asks several exchanges,
            simulates each offer, and shows what it would deliver. Your wallet signs; keys never leave
            it.
          </p>
        )}
        {connection && (
          <>
            <PrivateRpc
              key={connection.address}
              connection={connection}
              privacy={privacy}
              status={status}
              setPrivacy={setPrivacy}
              say={say}
            />
            <nav aria-label="What to do">
              {(['swap', 'wrap'] as const).map((one) => (
                <button
                  key={one}
                  type="button"
                  aria-pressed={tab === one}
                  onClick={() => setTab(one)}
                >
                  {one === 'swap' ? 'Swap' : 'Wrap and unwrap'}
                </button>
              ))}
            </nav>
          </>
        )}
        <Swap
            key={connection?.address ?? ''}
            hidden={connection !== undefined && tab !== 'swap'}
            lost={setTrouble}
            connection={connection}
            privacy={privacy}
            sell={sell}
            buy={buy}
            amount={amount}
            setAmount={setAmount}
            balances={held.tokens}
            eth={held.eth}
            ether={weth && etherOf(weth)}
            isWrapping={flow?.first === 'wrap' && !isWrapped}
            began={began}
            asks={(first) => asks(first && isRead ? flowOf(first, '') : undefined)}
            setSell={(token) => setSell(learn(token))}
            setBuy={(token) => setBuy(learn(token))}
            flip={() => {
              setSell(buy)
              setBuy(sell)
            }}
            say={say}
            placed={placed}
            changes={changes}
        />
        {connection && (
          <Wrap
            key={`wrap ${connection.address}`}
            hidden={tab !== 'wrap'}
            lost={setTrouble}
            connection={connection}
            privacy={privacy}
            eth={held.eth}
            weth={held.tokens[WETH] ?? undefined}
            say={say}
            placed={placed}
          />
        )}
        {connection && flow && weth && (
          <Second
            flow={flow}
            order={firstOrder}
            weth={weth}
            connection={connection}
            privacy={privacy}
            say={say}
            placed={placed}
            lost={setTrouble}
            swap={isOfForm ? undefined : swapOfWrapped}
            leave={() => keep(undefined)}
          />
        )}
        {connection && (
          <section aria-labelledby="orders">
            <h2 id="orders">Your orders</h2>
            {!isLive && <p class="warn">Connecting to the service for live news…</p>}
            {!cards.length && <p>None yet.</p>}
            <Sum cards={cards} isWhole={isWhole} />
            {cards.map((card) => (
              <OrderCard
                key={card.key}
                card={card}
                cards={cards}
                tokens={tokens}
                session={connection.session}
                inclusion={status?.inclusion}
                cancel={(orderId, tell) => void cancel(orderId, tell)}
                speedUp={faster(card.update.order)}
              />
            ))}
            {older && (
              <button type="button" onClick={older}>
                Older orders
              </button>
            )}
          </section>
        )}
        {connection && (
          <Allowances
            connection={connection}
            privacy={privacy}
            holdings={held.holdings}
            tokens={tokens}
            placed={placed}
          />
        )}
      </main>
      <footer>
        <Colours />
        <p>Open source and self-hosted. Nothing on this page comes from anyone else.</p>
      </footer>
    </>
  )
}

/** The token that the page's link names, or the usual one. A symbol names only a listed token. */
async function linked(
  name: 'sell' | 'buy',
  usual: string,
  weth: Token | undefined,
): Promise<Token | undefined> {
  const wanted = (LINKED.get(name) ?? usual).trim().slice(0, 100).toLowerCase()
  if (wanted === '') return undefined
  if (wanted === 'eth') return weth && etherOf(weth)
  if (wanted === WETH.toLowerCase()) return weth
  const found = (await find(wanted)).filter(
    (token) =>
      token.address.toLowerCase() === wanted ||
      (token.symbol.toLowerCase() === wanted && !token.warnings.includes('unlisted')),
  )
  return found.length === 1 ? found[0] : undefined
}

const root = document.getElementById('app')
if (root) {
  render(<App />, root)
  keepFocus(root)
}
