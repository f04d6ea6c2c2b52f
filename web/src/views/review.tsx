// What is signed, before the wallet is asked; and what to compare while it asks.

import { shortened, show } from '../amounts'
import { clock, figure, usd } from '../figures'
import { isKnownRouter, mayFall, type Quote, routerName } from '../quote'
import { readable } from '../text'
import { isUnlisted, type Token } from '../tokens'
import type { Trade } from '../trade/machine'
import type { Primary } from '../trade/primary'
import { callsOf, stepsOf } from '../trade/plan'
import { REST_IS_WETH, searchers } from '../words'
import { Go } from './card'
import { feeText, impactText, mostFee } from './evidence'
import { HeldNotes } from './guard'
import { Picture, Ring } from './icons'
import { Copy, Dialog, Fact, Fault, Message, useNow } from './parts'

const RELAY_CHARS = 40

interface Props {
  trade: Trade
  canBatch: boolean
  wallet: string
  primary: Primary
  act(): void
  close(): void
}

/** The two amounts of a trade, and the addresses of tokens that no list has. */
function Terms({ trade, quote, isBatch }: { trade: Trade; quote: Quote; isBatch: boolean }) {
  const { sell, buy } = trade
  if (!sell || !buy) return null
  const [paid, arrives] = isBatch ? [sell, buy] : [sell.wrapped ?? sell, buy.wrapped ?? buy]
  const rest = isBatch && buy.wrapped ? `. ${REST_IS_WETH}` : ''
  const { scoring } = quote
  const value = scoring.priceAvailable ? usd(scoring.netValueUsd + scoring.gasCostUsd) : ''
  return (
    <div class="terms">
      <Term token={paid} title="You pay" amount={show(quote.sellAmount, sell.decimals)} note={value && `worth about ${value} when swapped`} />
      <hr />
      <Term
        token={arrives}
        title={mayFall(quote) ? 'You receive at least, before a fee of the token' : 'You receive at least'}
        amount={figure(quote.minBuyAmount, arrives.decimals)}
        full={show(quote.minBuyAmount, arrives.decimals)}
        note={`Expected ${figure(quote.buyAmount, arrives.decimals)}, price impact ${impactText(quote)}${rest}`}
      />
    </div>
  )
}

interface TermProps {
  token: Token
  title: string
  amount: string
  full?: string
  note: string
}

const Term = ({ token, title, amount, full, note }: TermProps) => (
  <div>
    <Picture token={token} size="l" />
    <small>{title}</small>
    <span class="big" title={full}>
      {amount} <bdi>{token.symbol}</bdi>
    </span>
    {note && <small>{note}</small>}
    {isUnlisted(token) && (
      <small class="bad">
        No list has it: <code class="whole">{token.address}</code>
      </small>
    )}
  </div>
)

function until({ executableUntil }: Quote, now: number): { text: string; more: string } {
  if (executableUntil == null) return { text: 'no deadline', more: 'cancel to be sure, if it waits too long' }
  const minutes = Math.max(0, Math.round((Date.parse(executableUntil) - now) / 60_000))
  return { text: `${clock(executableUntil, now).slice(0, 5)}, in ${minutes} min`, more: 'after that the router refuses it' }
}

function SignedFacts({ quote, trade, canBatch }: Pick<Props, 'trade' | 'canBatch'> & { quote: Quote }) {
  const good = until(quote, useNow())
  const { target } = quote.dexRoute
  const { provider, providerMetadata } = quote.mevProtection
  const relay = (providerMetadata as { mevRelayMetadata?: { endpointType?: string; shareMode?: string } }).mevRelayMetadata
  return (
    <dl class="facts spaced">
      <Fact name="Network fee" more="in ETH; quietswap takes none">
        {feeText(quote)}, {mostFee(trade, canBatch)}
      </Fact>
      <Fact
        name="Router"
        more={
          <>
            <code title={target}>{shortened(target)}</code>
            {quote.verification.bound && ', enforces the minimum'}
          </>
        }
      >
        {isKnownRouter(target) && <span class="good">✓ </span>}
        {routerName(target)}
      </Fact>
      <Fact name="Sent to">{readable(provider, RELAY_CHARS)}, a private relay</Fact>
      <Fact name="Seen by" more={searchers(relay?.endpointType, relay?.shareMode)}>the relay and its block builders</Fact>
      <Fact name="Good until" more={good.more}>{good.text}</Fact>
    </dl>
  )
}

export function Review(props: Props) {
  const { trade, canBatch, wallet, primary, act, close } = props
  const { quote, buy } = trade
  const [step] = stepsOf(trade, canBatch)
  const seconds = Math.max(0, Math.ceil((trade.until - useNow()) / 1_000))
  if (!quote || !buy || !step) return null
  const confirm: Primary = primary.act === 'review' ? { words: `Confirm in ${wallet}`, act: 'sign' } : primary
  return (
    <Dialog title="Review: what you sign" close={close} first="h2">
      <Terms {...{ trade, quote }} isBatch={step.name === 'batch'} />
      <SignedFacts {...{ quote, trade, canBatch }} />
      <HeldNotes trade={trade} />
      {trade.isWorse && trade.seen && (
        <Message tone="bad" icon="danger" role="alert" title="The price fell">
          <p>
            At least {figure(quote.minBuyAmount, buy.decimals)} instead of {figure(trade.seen.minBuyAmount, buy.decimals)} <bdi>{buy.symbol}</bdi>.
          </p>
        </Message>
      )}
      <Fault text={trade.fault} />
      <Go primary={confirm} act={act} />
      <div class="row between">
        <p class="small soft">{trade.isRenewing ? 'A fresh quote is made.' : `Fresh quote in ${seconds} s.`}</p>
        <Copy text={show(quote.minBuyAmount, (buy.wrapped ?? buy).decimals)} label="Copy the minimum" />
      </div>
    </Dialog>
  )
}

/** As in "show 3 calls with 1 ETH in all, the swap at". */
function callsText(trade: Trade, quote: Quote): string {
  const calls = callsOf(trade, quote)
  const value = calls.reduce((sum, call) => sum + call.value, 0n)
  return `show ${calls.length} calls with ${show(value, 18)} ETH in all, the swap at`
}

/** While the wallet asks: closing it never answers the wallet. */
export function Signing({ trade, wallet, takenSeconds, close }: Pick<Props, 'trade' | 'wallet' | 'close'> & { takenSeconds: number }) {
  const { quote, asked } = trade
  const isSigned = trade.phase === 'signed'
  const isBatch = asked?.step === 'batch'
  const end = trade.until + takenSeconds * 1_000
  const left = Math.max(0, Math.ceil((end - useNow()) / 1_000))
  return (
    <Dialog title={`Waiting for ${wallet}`} close={close}>
      {quote && <Terms {...{ trade, quote }} isBatch={isBatch} />}
      <Message tone={isSigned ? 'good' : ''} icon="wallet" role="status" title={isSigned ? 'Signed' : `Open ${wallet} and compare`}>
        {isSigned ? (
          <p>The wallet has signed. Waiting for the service to confirm that it has it…</p>
        ) : (
          <p>
            In your wallet, confirm: {asked?.label}. It should {isBatch && quote ? callsText(trade, quote) : 'ask for one transaction to'}{' '}
            <code title={quote?.dexRoute.target}>{shortened(quote?.dexRoute.target ?? '')}</code>
            {!isBatch && ', value 0 ETH'}. If it shows something else, decline it.
          </p>
        )}
      </Message>
      <div class="go off" aria-busy="true">
        <Ring />
        {isSigned ? 'Waiting for the service…' : 'Waiting for your signature…'}
      </div>
      <p class="note">
        {isSigned ? 'It is on its way.' : 'Nothing is sent until you sign. To stop, decline it in your wallet.'}{' '}
        {!isSigned && quote && <span class="keep">{left} s left.</span>}
      </p>
    </Dialog>
  )
}
