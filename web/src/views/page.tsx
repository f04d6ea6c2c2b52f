// The frame of the page: header, banners, the card or an order, the evidence, and what opens above them.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { useOrders } from '../account'
import type { Schemas, Status } from '../api'
import type { useCalls } from '../calls'
import { type Card as OrderCard, cardOf } from '../cards'
import type { Connection, Wallets } from '../connection'
import type { useFlow } from '../flow'
import type { Linked } from '../link'
import { sourcesOf } from '../quote'
import type { PrivateSending } from '../privacy'
import type { Order } from '../stream'
import { etherOf, find, type Token } from '../tokens'
import type { Desk } from '../trade/desk'
import type { Trade } from '../trade/machine'
import { conversionOf } from '../trade/plan'
import { type Action, type Primary, type State, type World } from '../trade/primary'
import { Card } from './card'
import { Costs, Evidence } from './evidence'
import { Account, Banners, Footer, Header, PrivateDialog, type View } from './header'
import { IfNot, OrderView } from './order'
import { inProgress, OrdersPage } from './orders'
import { Fault, type Known, Message } from './parts'
import { Review, Signing } from './review'
import { Second } from './second'
import { Slippage } from './settings'
import { TokenSheet } from './tokens'
import { StepWait } from './waiting'
import { WalletChooser } from './wallets'
import { show } from '../amounts'

export interface PageProps {
  desk: Desk
  trade: Trade
  world: World
  primary: Primary
  state: State
  connection: Connection | undefined
  wallets: Wallets
  sending: PrivateSending
  account: ReturnType<typeof useOrders>
  cards: readonly OrderCard[]
  tokens: Known
  status: Status | null | undefined
  held: { holdings: Array<Schemas['TokenBalance']>; ether: bigint | undefined; paid: bigint | undefined; received: bigint | undefined }
  calls: ReturnType<typeof useCalls>
  said: string
  /** The newest change of an order. */
  news: string
  ether: Token | undefined
  weth: Token | undefined
  two: Pick<ReturnType<typeof useFlow>, 'flow' | 'order' | 'keep'> & { isOfForm: boolean }
  link: Linked
  learn(token: Token): Token
  cancel(orderId: string, tell: (text: string) => void): Promise<void>
  faster(order: Order): ((tell: (text: string) => void) => Promise<void>) | undefined
}

type Sheet = 'sell' | 'buy' | 'slippage' | 'wallets' | 'private' | 'account' | undefined

const viewOf = (): View => (location.hash === '#orders' ? 'orders' : 'swap')

function useView(): View {
  const [view, setView] = useState(viewOf)
  useEffect(() => {
    const changed = (): void => {
      setView(viewOf())
      scrollTo(0, 0)
    }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return view
}

/** What is open above the page; a sheet closes when what it was opened for is done. */
function useSheet({ connection, sending }: PageProps) {
  const [sheet, setSheet] = useState<Sheet>()
  const before = useRef(sending.privacy)
  useEffect(() => {
    if (connection) setSheet((open) => (open === 'wallets' ? undefined : open))
    else setSheet((open) => (open === 'account' || open === 'private' ? undefined : open))
  }, [connection])
  useEffect(() => {
    const isNews = before.current !== 'private' && sending.privacy === 'private'
    before.current = sending.privacy
    if (isNews) setSheet((open) => (open === 'private' ? undefined : open))
  }, [sending.privacy])
  return [sheet, setSheet] as const
}

export function Page(props: PageProps) {
  const { trade, connection, sending, status, cards, link, said } = props
  const view = useView()
  const [sheet, open] = useSheet(props)
  const connect = (): void => {
    const [only] = props.wallets.all
    open('wallets')
    if (only && props.wallets.all.length === 1) props.wallets.connect(only)
  }
  const followed = trade.phase === 'following' ? cardOf(cards, trade.orderId) : undefined
  const state = view === 'orders' ? 'orders' : sheet === 'wallets' ? 'wallets' : sheet === 'sell' || sheet === 'buy' ? 'tokens' : props.state
  return (
    <>
      <Header {...{ view, connection, sending, status, connect, open }} count={inProgress(cards)} />
      <main data-state={state}>
        {view === 'swap' && connection && <h1 class="vh">{followed ? 'Your order' : 'Swap'}</h1>}
        <p role="status" aria-live="polite" class="said">
          {said}
        </p>
        <p role="status" aria-live="polite" class="vh news">
          {props.news}
        </p>
        <Banners status={status} isAway={sending.privacy === 'service away'} />
        <Fault text={link.trouble} />
        {link.unread.filter((name) => !trade[name]).map((name) => (
          <Fault key={name} text={`The link's “${name}” is neither the address of a token nor the symbol of one listed token: choose it yourself.`} />
        ))}
        {view === 'orders' && <Fault text={trade.fault} />}
        {view === 'orders' ? <Orders {...props} connect={connect} /> : followed && connection ? <Followed {...props} card={followed} connection={connection} /> : <Swap {...props} open={open} connect={connect} />}
      </main>
      <Footer version={connection?.session.version} />
      <Sheets {...props} sheet={sheet} open={open} view={view} />
    </>
  )
}

interface Opening {
  open(sheet: Sheet): void
}

/** What the button does. */
function act(action: Action | undefined, props: PageProps & Opening & { connect(): void }): void {
  const { desk, sending, open } = props
  const actions: Record<Action, () => void> = {
    connect: props.connect,
    switch: sending.toMainnet,
    'set up': () => open('private'),
    'sell token': () => open('sell'),
    'buy token': () => open('buy'),
    look: () => desk.dispatch({ type: 'look' }),
    sign: () => void desk.sign(),
    review: () => desk.dispatch({ type: 'review' }),
    ask: () => desk.ask(),
  }
  if (action) actions[action]()
}

/** The form and its evidence. */
function Swap(props: PageProps & Opening & { connect(): void }) {
  const { desk, trade, primary, world, held, connection, status, calls } = props
  const sources = sourcesOf(trade, status)
  const step = trade.phase === 'waiting' ? props.account.orders.get(trade.orderId)?.order : undefined
  return (
    <>
      {!connection && <Hero />}
      <div class="cols">
        <div class="stack">
          <TwoSteps {...props} />
          <Card
            {...{ trade, primary }}
            canBatch={calls.can}
            paid={held.paid}
            received={held.received}
            wallet={world.wallet}
            isReading={props.link.isReading}
            act={() => act(primary.act, props)}
            edit={(form) => desk.dispatch({ type: 'edit', form })}
            consent={(consent) => desk.dispatch({ type: 'consent', consent })}
            separate={() => desk.dispatch({ type: 'separate' })}
            open={props.open}
          >
            <StuckNote calls={calls} />
          </Card>
          <StepWait trade={trade} order={step} inclusion={status?.inclusion} />
          {!connection && <Costs trade={trade} status={status} />}
        </div>
        <div class="aside">
          {step ? <IfNot order={step} /> : <Evidence {...{ trade, status, sources }} canBatch={calls.can} isConnected={connection !== undefined} />}
        </div>
      </div>
    </>
  )
}

const Hero = () => (
  <div class="hero">
    <h1>Swap tokens without showing your hand.</h1>
    <p>Your order goes to block builders in private. Every offer is simulated first, and the router’s code enforces your minimum.</p>
  </div>
)

/** What is left of a swap with ETH. */
function TwoSteps({ desk, two, weth, learn }: PageProps) {
  const { flow, order, keep, isOfForm } = two
  const { trade } = desk
  const isUnwrapping = flow?.first === 'swap' && conversionOf(trade) === 'unwrap'
  if (!flow || !weth || isUnwrapping || (isOfForm && trade.done.length > 0)) return null
  const form = (sell: Token | undefined, buy: Token | undefined, amount: string): void => {
    desk.dispatch({ type: 'leave' })
    desk.dispatch({ type: 'edit', form: { sell, buy, amount } })
  }
  return (
    <Second
      {...{ flow, order, weth }}
      swap={() => void find(flow.buy).then(([buy]) => buy && form(weth, learn(buy), flow.amount), () => undefined)}
      unwrap={(amount) => form(weth, etherOf(weth), amount)}
      leave={() => keep(undefined)}
    />
  )
}

/** An earlier question to the wallet whose end is not known. */
function StuckNote({ calls: { stuck, goOn } }: Pick<PageProps, 'calls'>) {
  if (!stuck) return null
  return (
    <div class="msg bad stuck" role="group" aria-label="What your wallet was asked">
      <p role={stuck.isWrong ? 'alert' : undefined}>{stuck.text}</p>
      {stuck.mayGoOn && (
        <div class="row">
          <button class="btn" type="button" onClick={goOn}>
            I have looked, go on
          </button>
        </div>
      )}
    </div>
  )
}

/** The order of the last signature. */
function Followed(props: PageProps & { card: OrderCard; connection: Connection }) {
  const { desk, card, cards, tokens, connection, status, held } = props
  const leave = (again: boolean): void => {
    const { conversion, orderParams } = card.update.order
    const { fromToken, toToken, amount } = orderParams
    const sell = conversion === 'wrap' ? props.ether : tokens[fromToken]
    const buy = conversion === 'unwrap' ? props.ether : tokens[toToken]
    desk.dispatch({ type: 'leave' })
    if (again && sell && buy) desk.dispatch({ type: 'edit', form: { sell, buy, amount: show(amount, sell.decimals).replaceAll(',', '') } })
  }
  return (
    <>
      <Fault text={desk.trade.fault} />
      <StuckNote calls={props.calls} />
      <OrderView
        {...{ card, cards, tokens, leave }}
        session={connection.session}
        inclusion={status?.inclusion}
        holdings={held.holdings}
        cancel={props.cancel}
        speedUp={props.faster(card.update.order)}
      >
        <TwoSteps {...props} />
      </OrderView>
    </>
  )
}

function Orders(props: PageProps & { connect(): void }) {
  const { connection, cards, tokens, status, held, account, sending } = props
  if (!connection) {
    return (
      <Message title="Your orders are shown when a wallet is connected">
        <div class="row">
          <button class="btn fill" type="button" onClick={props.connect}>
            Connect wallet
          </button>
        </div>
      </Message>
    )
  }
  return (
    <OrdersPage
      {...{ cards, tokens }}
      session={connection.session}
      inclusion={status?.inclusion}
      holdings={held.holdings}
      isLive={account.isLive}
      isWhole={account.isWhole}
      older={account.older}
      cancel={props.cancel}
      faster={props.faster}
      leave={() => (location.hash = '')}
      allowances={{ connection, privacy: sending.privacy, holdings: held.holdings, tokens, placed: account.placed }}
    />
  )
}

/** What opens above the page. */
function Sheets(props: PageProps & Opening & { sheet: Sheet; view: View }) {
  const { desk, trade, sheet, open, connection, sending, wallets, world, calls, primary } = props
  const close = (): void => open(undefined)
  const [isHidden, setHidden] = useState(false)
  useEffect(() => setHidden(false), [trade.asked])
  if (sheet === 'wallets') return <WalletChooser wallets={wallets} close={close} />
  if (sheet === 'slippage') return <Slippage text={trade.slippage} change={(slippage) => desk.dispatch({ type: 'edit', form: { slippage } })} close={close} />
  if (sheet === 'private' && connection) return <PrivateDialog sending={sending} wallet={world.wallet} close={close} />
  if (sheet === 'account' && connection) return <Account connection={connection} disconnect={wallets.disconnect} close={close} />
  if (sheet === 'sell' || sheet === 'buy') {
    return (
      <TokenSheet
        title={sheet === 'sell' ? 'Pay with' : 'Receive'}
        wallet={connection?.address}
        ether={props.ether}
        choose={(token) => {
          desk.dispatch({ type: 'edit', form: { [sheet]: props.learn(token) } })
          close()
        }}
        close={close}
      />
    )
  }
  if (props.view === 'orders') return null
  if (trade.phase === 'review') {
    return (
      <Review
        {...{ trade, primary }}
        canBatch={calls.can}
        wallet={world.wallet}
        act={() => (primary.act === 'look' ? desk.dispatch({ type: 'look' }) : void desk.sign())}
        close={() => desk.dispatch({ type: 'close' })}
      />
    )
  }
  const isSigning = trade.phase === 'signing' || trade.phase === 'signed'
  if (!isSigning || isHidden || trade.isEdited || trade.from !== 'review' || !connection) return null
  return <Signing trade={trade} wallet={world.wallet} takenSeconds={connection.session.takenSeconds - connection.session.quoteSeconds} close={() => setHidden(true)} />
}
