// Quote and swap: what each source promised, what the simulation measured, and the signature.

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { get, now, type Route, type Schemas, streamQuote } from './api'
import { useAnswer } from './answer'
import { approveData, parse, show, slippage } from './amounts'
import { useCalls } from './calls'
import type { Connection, Privacy } from './connect'
import { Guard, isConsented } from './guard'
import { type Flow, GAS_WEI } from './native'
import { Fault, Named, Outdated } from './parts'
import { Arriving, bestOf, Facts, places, type Quote, Sources, usd } from './quote'
import { approvedAmount, isAsAsked, isWorse, whyNot } from './rules'
import { Settings, usualSlippage } from './settings'
import type { Order } from './stream'
import { failureText, sendPrivately, Strayed } from './submit'
import { type Token, TokenField } from './tokens'
import type { Issued } from './wallet'
import { lossText } from './words'
import { WrapForm } from './wrap'

type Price = Schemas['PriceResponse']

const EARLY_S = 5
const LEAST_S = 3
const TYPING_MS = 500
const SHARES = [25n, 50n, 75n, 100n]

interface Props {
  /** Without one there are prices and no quotes. */
  connection: Connection | undefined
  privacy: Privacy
  sell: Token | undefined
  buy: Token | undefined
  amount: string
  setAmount(text: string): void
  balances: Record<string, string | null | undefined>
  /** Wei. */
  eth: string | undefined
  ether: Token | undefined
  hidden: boolean
  /** Called with a failure of a transaction whose form is no longer shown. */
  lost(text: string): void
  /** ETH is being wrapped for a swap. */
  isWrapping: boolean
  /** Called with the first step that the wallet is asked for, and with undefined when it has answered. */
  asks(first: Flow['first'] | undefined): void
  /** Called with the order of a wrap or swap. */
  began(first: Flow['first'], order: Order): void
  setSell(token: Token): void
  setBuy(token: Token): void
  flip(): void
  say(text: string): void
  placed(order: Order): void
  /** Counts up when an order ended, so that a quote is asked for again. */
  changes: number
}

interface Live {
  quote: Quote
  until: number
}

export function Swap(props: Props) {
  const { connection, privacy, sell, buy, balances, say, placed, amount: amountText } = props
  const id = useId()
  const [slippageText, setSlippageText] = useState(usualSlippage)
  const [typing, setTyping] = useState({ sell: false, buy: false })
  const [isAsking, setAsking] = useState(false)
  /** A quote follows when a block has the approval. */
  const [isApproving, setApproving] = useState(false)
  const [signing, setSigning] = useState<ComponentChildren>()
  const [isOutdated, setOutdated] = useState(false)
  const [isWrapAsked, setWrapAsked] = useState(false)
  const [consent, setConsent] = useState('')
  const turn = useRef(0)
  const edits = useRef(0)
  const decision = useRef<HTMLDivElement>(null)

  const amount = sell ? parse(amountText, sell.decimals) : 'Choose a token to sell.'
  const bpsAllowed = slippage(slippageText)
  const isSame = sell?.address === buy?.address
  const isReadable = typeof amount === 'bigint' && typeof bpsAllowed === 'number'
  const asked =
    sell && buy && isReadable && !isSame && !typing.sell && !typing.buy
      ? { sellToken: sell.address, buyToken: buy.address, sellAmount: String(amount) }
      : undefined
  const question = asked ? [...Object.values(asked), bpsAllowed].join() : ''
  const [price, setPrice] = useAnswer<Price>(question)
  const [live, setLive] = useAnswer<Live>(question)
  const [routes = [], setRoutes] = useAnswer<readonly Route[]>(question)
  const [seen, setSeen] = useAnswer<Quote>(question)
  const [fault, setFault] = useAnswer<string>(question)

  /** Withdraws quote and button: the fields no longer say what was quoted. */
  const edited = (): void => {
    edits.current++
    turn.current++
    setAsking(false)
    setApproving(false)
    setLive(undefined)
    setConsent('')
    if (signing !== undefined || isWrapAsked) setOutdated(true)
  }

  const typed = (field: 'sell' | 'buy', is: boolean): void => {
    if (is) edited()
    setTyping((now) => ({ ...now, [field]: is }))
  }

  useEffect(() => {
    if (!asked) return
    const timer = setTimeout(() => {
      get<Price>('/api/v1/price', asked).then(
        (found) => setPrice(found, question),
        // an indicative price is a courtesy where a quote says what is wrong
        (error: Error) => !connection && setFault(error.message, question),
      )
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [question])

  /** Asks for a quote. One that replaces a better one by itself is not signed before a look. */
  const quote = async (isByPerson: boolean): Promise<void> => {
    if (!asked || !connection) return
    const mine = ++turn.current
    setAsking(true)
    setApproving(false)
    if (isByPerson || !live) setFault(undefined)
    let verified: readonly Route[] = []
    setRoutes(verified)
    try {
      const query = { ...asked, userAddress: connection.address, slippageBps: String(bpsAllowed) }
      const found = await streamQuote(query, (route) => {
        verified = [...verified, route]
        if (mine === turn.current) setRoutes(verified, question)
      })
      if (mine !== turn.current) return
      const lasts = Math.max(connection.session.quoteSeconds - EARLY_S, LEAST_S)
      if (isByPerson || !seen || !isWorse(found, seen)) setSeen(found, question)
      if (isByPerson || (seen && found.loss.bps > seen.loss.bps)) setConsent('')
      setLive({ quote: found, until: now() + lasts * 1_000 }, question)
      if (isByPerson) {
        requestAnimationFrame(() => decision.current?.scrollIntoView({ block: 'nearest' }))
      }
    } catch (error) {
      if (mine !== turn.current) return
      setLive(undefined, question)
      setFault((error as Error).message, question)
    } finally {
      if (mine === turn.current) setAsking(false)
    }
  }

  const calls = useCalls(connection, live?.quote, say)
  const isBusy = isAsking || calls.isHeld || signing !== undefined || isWrapAsked

  // An order ended, so balances and allowances changed: the quote is asked for again, also for an
  // order that ended before the page knew it to be under way.
  const { changes } = props
  const before = useRef(changes)
  useEffect(() => {
    if (isBusy || before.current === changes) return
    before.current = changes
    if (live || isApproving) void quote(false)
  }, [changes, isBusy])

  // The ETH is wrapped: the quote said how much WETH the wallet had before.
  useLayoutEffect(() => {
    if (sell?.wrapped || !live) return
    setLive(undefined)
    void quote(false)
  }, [sell?.wrapped === undefined])

  const left = useCountdown(live?.until, () => {
    if (!document.hidden && !props.hidden && !isBusy) void quote(false)
    else if (!isWrapAsked) setLive(undefined)
  })

  /** Sends one transaction through the wallet, and follows the order that it became. */
  const through = async (
    kind: 'approval' | 'swap',
    what: ComponentChildren,
    send: (isStill: () => boolean, signed: () => void) => Promise<Order>,
  ): Promise<void> => {
    if (calls.isOpen()) return
    const mine = edits.current
    setSigning(<>In your wallet, confirm: {what}.</>)
    setOutdated(false)
    setFault(undefined)
    if (kind === 'swap') props.asks('swap')
    try {
      const order = await send(
        () => mine === edits.current,
        () => setSigning('The wallet has signed. Waiting for the service to confirm that it has it…'),
      )
      setLive(undefined)
      setApproving(kind === 'approval' && mine === edits.current)
      placed(order)
      if (kind === 'swap') props.began('swap', order)
      say(`The ${kind} is under way.`)
    } catch (error) {
      if (error instanceof Strayed) setLive(undefined)
      setFault(failureText(error))
    } finally {
      if (kind === 'swap') props.asks(undefined)
      setSigning(undefined)
      setOutdated(false)
    }
  }

  const plainly = (kind: 'approval' | 'swap', tx: Issued, what: ComponentChildren): void => {
    if (connection) void through(kind, what, (...asks) => sendPrivately(connection, kind, tx, ...asks))
  }

  const swap = (isBatched: boolean): void => {
    if (!live || !sell || !buy || !connection) return
    const { quote } = live
    const safe = isAsAsked(quote, asked)
    if (safe !== undefined) return setFault(`${safe} Nothing was sent.`)
    const terms = <Terms quote={quote} sell={sell} buy={buy.wrapped ?? buy} />
    if (!isBatched) return plainly('swap', quote.mevProtection.transactionParams, <>swap {terms}</>)
    void through('swap', <>approve and swap {terms}, with the gas in ETH</>, (...asks) =>
      calls.send(connection, quote, ...asks),
    )
  }

  const approve = (): void => {
    const issue = live?.quote.issues.allowance
    if (!live || !issue || !asked || !sell) return
    if (issue.spender !== live.quote.dexRoute.target) {
      return setFault('The quote names another spender than its router. Nothing was sent.')
    }
    const exact = approvedAmount(issue, asked)
    const tx = { to: asked.sellToken, data: approveData(issue.spender, exact), value: '0' }
    plainly(
      'approval',
      tx,
      <>
        approve exactly {show(exact, sell.decimals)} <Named token={sell} />
      </>,
    )
  }

  const balance = sell?.wrapped ? props.eth : sell && balances[sell.address]
  /** What can be sold of it. */
  const whole = balance == null ? 0n : BigInt(balance) - (sell?.wrapped ? GAS_WEI : 0n)
  const isShort = typeof amount === 'bigint' && balance != null && BigInt(balance) < amount
  const issues = live?.quote.issues
  const blocked = whyNot(privacy, issues, sell)
  const isUnapproved = issues?.allowance != null && !issues.balance
  const best = isAsking ? bestOf(routes) : undefined
  const receives = expected(live?.quote ?? best, price, buy)
  const isChanged = live !== undefined && seen !== undefined && isWorse(live.quote, seen)
  return (
    <section aria-labelledby={`${id}-title`} hidden={props.hidden}>
      <h2 id={`${id}-title`}>Swap</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void quote(true)
        }}
      >
        <div class="side">
          <div class="field">
            <label for={`${id}-sell`}>You sell</label>
            <input
              id={`${id}-sell`}
              class={large(amountText)}
              placeholder="0"
              inputMode="decimal"
              autocomplete="off"
              maxLength={80}
              value={amountText}
              aria-describedby={`${id}-sell-note`}
              aria-invalid={amountText !== '' && (typeof amount === 'string' || isShort)}
              onInput={(event) => {
                edited()
                props.setAmount(event.currentTarget.value)
              }}
            />
            <p id={`${id}-sell-note`} class="note">
              {amountText !== '' && typeof amount === 'string' && `${amount} `}
              {sell && balance != null && `You have ${show(balance, sell.decimals, 6)}.`}
              {sell?.wrapped && ` ${show(GAS_WEI, 18)} of it stays for gas in “Max”.`}
              {sell?.wrapped && !isShort && typeof amount === 'bigint' && amount > whole && (
                <strong class="warn"> Too little ETH may be left for gas.</strong>
              )}
              {isShort && <strong class="warn"> That is less than this amount.</strong>}
            </p>
            {sell && whole > 0n && (
              <p class="shares">
                {SHARES.map((share) => (
                  <button
                    key={share}
                    type="button"
                    onClick={() => {
                      edited()
                      const units = (whole * share) / 100n
                      props.setAmount(show(units, sell.decimals).replaceAll(',', ''))
                    }}
                  >
                    {share === 100n ? 'Max' : `${share} %`}
                  </button>
                ))}
              </p>
            )}
          </div>
          <TokenField
            label="Sell token"
            chosen={sell}
            wallet={connection?.address}
            ether={props.ether}
            choose={props.setSell}
            typing={(is) => typed('sell', is)}
          />
        </div>
        <p class="flip">
          <button
            type="button"
            aria-label="Sell what you buy"
            title="Sell what you buy"
            disabled={!sell || !buy}
            onClick={() => {
              edited()
              props.flip()
            }}
          >
            ⇅
          </button>
        </p>
        <div class="side">
          <div class="field">
            <label for={`${id}-buy`}>You receive</label>
            <input id={`${id}-buy`} class={large(receives)} readOnly value={receives} />
            <p class="note">
              {sell && isSame && <strong class="warn">Choose another token to buy. </strong>}
              {sell?.symbol !== buy?.symbol && isSame && 'ETH becomes WETH in “Wrap and unwrap”.'}
              {live
                ? `At least ${show(live.quote.minBuyAmount, buy?.decimals ?? 0, 6)}, or it fails.`
                : best
                  ? 'Verified by simulation, not final yet.'
                  : price
                    ? 'Indicative: nothing was simulated yet.'
                    : isAsking && 'Nothing was verified by simulation yet.'}
              {worth(live?.quote ?? price)}
            </p>
            {!live && price && price.loss.level !== 'none' && (
              <p class={price.loss.level === 'notice' ? 'note' : 'warn'}>
                You may lose: {lossText(price.loss)}.
              </p>
            )}
          </div>
          <TokenField
            label="Buy token"
            chosen={buy}
            wallet={connection?.address}
            ether={props.ether}
            choose={props.setBuy}
            typing={(is) => typed('buy', is)}
          />
        </div>
        <Settings
          text={slippageText}
          change={(text) => {
            edited()
            setSlippageText(text)
          }}
        />
        <button
          type="submit"
          class={live ? '' : 'primary'}
          disabled={!asked || isBusy || !connection}
        >
          Get quote
        </button>
        {!connection && (
          <p class="note">
            Connect a wallet for a quote: it is built, simulated and checked for one wallet.
          </p>
        )}
      </form>
      {isApproving && <p class="busy">A fresh quote follows when a block has the approval.</p>}
      {isAsking && <p class="busy">Asking the sources, and simulating each route…</p>}
      {isAsking && !live && buy && <Arriving routes={routes} buy={buy} />}
      {signing !== undefined && <p class="busy">{signing}</p>}
      {isOutdated && <Outdated />}
      <Fault text={fault} />
      {calls.note}
      {live && buy && sell && (
        <div class="quote">
          <div class="decision" ref={decision}>
            {isChanged ? (
              <Changed
                quote={live.quote}
                seen={seen}
                buy={buy}
                look={() => {
                  setConsent('')
                  setSeen(live.quote)
                }}
              />
            ) : (
              !sell.wrapped && (
                <Guard loss={live.quote.loss} action="swap" consent={consent} setConsent={setConsent} />
              )
            )}
            {!isChanged && sell.wrapped && live.quote.loss.level !== 'none' && (
              <p class="warn">You may lose: {lossText(live.quote.loss)}. It is asked before the swap.</p>
            )}
            {!isChanged && sell.wrapped && connection && typeof amount === 'bigint' && (
              <>
                <p>
                  Two steps: first wrap the ETH, then swap the WETH, after an approval if the router
                  needs one. Between them the WETH is yours.
                </p>
                {!props.isWrapping && (
                  <WrapForm
                    connection={connection}
                    privacy={privacy}
                    operation="wrap"
                    amount={amount}
                    isShort={isShort}
                    say={say}
                    placed={(order) => {
                      placed(order)
                      props.began('wrap', order)
                    }}
                    lost={props.lost}
                    asks={(is) => {
                      props.asks(is ? 'wrap' : undefined)
                      setWrapAsked(is)
                      setOutdated(false)
                    }}
                  />
                )}
              </>
            )}
            {!isChanged && buy.wrapped && (
              <p>Two steps: the swap brings WETH, then you unwrap it to ETH. Each has its own gas.</p>
            )}
            {!isChanged && !sell.wrapped && calls.can && (
              <>
                <button
                  type="button"
                  class="primary"
                  disabled={isBusy || privacy !== 'private' || !isConsented(live.quote.loss, consent)}
                  onClick={() => swap(true)}
                >
                  Approve and swap <Terms quote={live.quote} sell={sell} buy={buy.wrapped ?? buy} />
                </button>
                <p class="note">
                  Your wallet does both in one transaction. Pay its gas in ETH: for another token your
                  wallet sends it elsewhere. Or in two steps:
                </p>
              </>
            )}
            {!isChanged && !sell.wrapped && isUnapproved && issues.allowance && (
              <button
                type="button"
                class={calls.can ? '' : 'primary'}
                disabled={isBusy || calls.isAsking || privacy !== 'private'}
                onClick={approve}
              >
                Approve exactly {show(approvedAmount(issues.allowance, asked), sell.decimals)}{' '}
                <Named token={sell} />
              </button>
            )}
            {!isChanged && !sell.wrapped && !isUnapproved && (
              <button
                type="button"
                class="primary"
                disabled={isBusy || blocked !== undefined || !isConsented(live.quote.loss, consent)}
                onClick={() => swap(false)}
              >
                Swap <Terms quote={live.quote} sell={sell} buy={buy.wrapped ?? buy} />
              </button>
            )}
            {blocked !== undefined && !sell.wrapped && !calls.can && <p class="note">{blocked}</p>}
          </div>
          <p class="note">A fresh quote follows in {left} s.</p>
          <Facts quote={live.quote} buy={buy} />
          <Sources quote={live.quote} buy={buy} />
        </div>
      )}
    </section>
  )
}

/** What the wallet signs. */
const Terms = ({ quote, sell, buy }: { quote: Quote; sell: Token; buy: Token }) => (
  <>
    {show(quote.sellAmount, sell.decimals)} <Named token={sell} /> for at least{' '}
    {show(quote.minBuyAmount, buy.decimals, 6)} <Named token={buy} />
  </>
)

/** A quote that replaced a better one by itself: the person looks before anything is signed. */
function Changed(props: { quote: Quote; seen: Quote; buy: Token; look(): void }) {
  const { quote, seen, buy, look } = props
  const least = (one: Quote): string => show(one.minBuyAmount, buy.decimals, 6)
  return (
    <div class="loss red" role="group" aria-label="The quote became worse">
      <p>
        The quote became worse: at least {least(quote)} instead of {least(seen)}{' '}
        <bdi>{buy.symbol}</bdi>
        {quote.loss.level !== 'none' && `. You may lose: ${lossText(quote.loss)}`}.
      </p>
      <button type="button" class="primary" onClick={look}>
        Go on with the new quote
      </button>
    </div>
  )
}

/** What it is worth before gas, where the service has a price. */
function worth(found: Quote | Price | undefined): string {
  if (!found?.scoring.priceAvailable) return ''
  return ` About ${usd(found.scoring.netValueUsd + found.scoring.gasCostUsd)}.`
}

/** An amount is never cut off: a long one is written smaller. */
const large = (text: string): string =>
  `large${text.length > 20 ? ' longer longest' : text.length > 14 ? ' longer' : text.length > 9 ? ' long' : ''}`

function expected(quote: Quote | Route | undefined, price: Price | undefined, buy: Token | undefined) {
  const amount = quote?.buyAmount ?? price?.buyAmount
  if (amount === undefined || !buy) return '–'
  return show(amount, buy.decimals, places(amount.length - buy.decimals))
}

function useCountdown(until: number | undefined, over: () => void): number {
  const [seen, setSeen] = useState(now)
  const end = useRef(over)
  end.current = over
  useEffect(() => {
    if (until === undefined) return
    const timer = setInterval(() => {
      setSeen(now())
      if (now() >= until) {
        clearInterval(timer)
        end.current()
      }
    }, 500)
    setSeen(now())
    return () => clearInterval(timer)
  }, [until])
  return until === undefined ? 0 : Math.max(0, Math.ceil((until - seen) / 1000))
}
