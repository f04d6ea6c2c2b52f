// Quote and swap: what each source promised, what the simulation measured, and the signature.

import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks'
import { get, type Schemas } from './api'
import { approveData, parse, show, slippage } from './amounts'
import type { Connection, Privacy } from './connect'
import { Facts, type Quote, Sources } from './quote'
import { approvedAmount, isAsAsked, whyNot } from './rules'
import type { Order } from './stream'
import { failureText, sendPrivately } from './submit'
import { type Token, TokenField } from './tokens'
import type { Issued } from './wallet'

type Price = Schemas['PriceResponse']

const EARLY_S = 5
const LEAST_S = 3
const TYPING_MS = 500

interface Props {
  connection: Connection
  privacy: Privacy
  sell: Token | undefined
  buy: Token | undefined
  balances: Record<string, string | null | undefined>
  setSell(token: Token): void
  setBuy(token: Token): void
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
  const { connection, privacy, sell, buy, balances, say, placed } = props
  const id = useId()
  const [amountText, setAmountText] = useState('')
  const [slippageText, setSlippageText] = useState('0.5')
  const [busy, setBusy] = useState<string>()
  const turn = useRef(0)

  const amount = sell ? parse(amountText, sell.decimals) : 'Choose a token to sell.'
  const bpsAllowed = slippage(slippageText)
  const asked =
    sell && buy && typeof amount === 'bigint' && typeof bpsAllowed === 'number'
      ? { sellToken: sell.address, buyToken: buy.address, sellAmount: String(amount) }
      : undefined
  const question = asked ? [...Object.values(asked), bpsAllowed].join() : ''
  const [price, setPrice] = useAnswer<Price>(question)
  const [live, setLive] = useAnswer<Live>(question)
  const [fault, setFault] = useAnswer<string>(question)

  useEffect(() => {
    if (!asked) return
    const timer = setTimeout(() => {
      get<Price>('/api/v1/price', asked).then(
        (found) => setPrice(found, question),
        () => undefined, // an indicative price is a courtesy; the quote says what is wrong
      )
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [question])

  const quote = useCallback(async (): Promise<Quote | undefined> => {
    if (!asked) return undefined
    const mine = ++turn.current
    setBusy('Asking the sources, and simulating each route…')
    setFault(undefined)
    try {
      const found = await get<Quote>('/api/v1/quote', {
        ...asked,
        userAddress: connection.address,
        slippageBps: String(bpsAllowed),
      })
      if (mine !== turn.current) return undefined
      const lasts = Math.max(connection.session.quoteSeconds - EARLY_S, LEAST_S)
      setLive({ quote: found, until: Date.now() + lasts * 1_000 }, question)
      return found
    } catch (error) {
      if (mine === turn.current) {
        setLive(undefined, question)
        setFault((error as Error).message, question)
      }
      return undefined
    } finally {
      setBusy(undefined)
    }
  }, [question])

  // An order ended, so balances and allowances changed: the quote is asked for again, also for an
  // order that ended before the page knew it to be under way.
  const { changes } = props
  const before = useRef(changes)
  const isApproving = useRef(false)
  useEffect(() => {
    if (busy !== undefined || before.current === changes) return
    before.current = changes
    if (!live && !isApproving.current) return
    isApproving.current = false
    void quote()
  }, [changes, busy])

  const left = useCountdown(live?.until, () => {
    if (!document.hidden && !busy) void quote()
    else setLive(undefined)
  })

  /** Sends one transaction through the wallet, and follows the order that it became. */
  const through = async (
    kind: 'approval' | 'swap',
    tx: Issued,
    waiting: string,
  ): Promise<void> => {
    setBusy(waiting)
    setFault(undefined)
    try {
      const order = await sendPrivately(connection, kind, tx, () =>
        setBusy('The wallet has signed. Waiting for the service to confirm that it has it…'),
      )
      setLive(undefined)
      isApproving.current = kind === 'approval'
      placed(order)
      say(`The ${kind} is under way.`)
    } catch (error) {
      setFault(failureText(error))
    } finally {
      setBusy(undefined)
    }
  }

  const swap = (): void => {
    if (!live) return
    const { transactionParams } = live.quote.mevProtection
    const safe = isAsAsked(live.quote, asked)
    if (safe !== undefined) return setFault(`${safe} Nothing was sent.`)
    void through('swap', transactionParams, 'Confirm the swap in your wallet…')
  }

  const approve = (): void => {
    const issue = live?.quote.issues.allowance
    if (!live || !issue || !asked) return
    if (issue.spender !== live.quote.dexRoute.target) {
      return setFault('The quote names another spender than its router. Nothing was sent.')
    }
    const data = approveData(issue.spender, approvedAmount(issue, asked))
    const tx = { to: asked.sellToken, data, value: '0' }
    void through('approval', tx, 'Confirm the approval in your wallet…')
  }

  const balance = sell && balances[sell.address]
  const isShort = typeof amount === 'bigint' && balance != null && BigInt(balance) < amount
  const issues = live?.quote.issues
  const blocked = whyNot(privacy, issues, sell)
  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Swap</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void quote()
        }}
      >
        <div class="field">
          <label for={`${id}-sell`}>You sell</label>
          <input
            id={`${id}-sell`}
            inputMode="decimal"
            autocomplete="off"
            maxLength={80}
            value={amountText}
            aria-describedby={`${id}-sell-note`}
            aria-invalid={amountText !== '' && (typeof amount === 'string' || isShort)}
            onInput={(event) => setAmountText(event.currentTarget.value)}
          />
          <p id={`${id}-sell-note`} class="note">
            {amountText !== '' && typeof amount === 'string' && `${amount} `}
            {sell && balance != null && `You have ${show(balance, sell.decimals, 6)}.`}
            {isShort && <strong class="warn"> That is less than this amount.</strong>}
          </p>
        </div>
        <TokenField label="Sell token" chosen={sell} choose={props.setSell} />
        <div class="field">
          <label for={`${id}-buy`}>You receive</label>
          <input id={`${id}-buy`} class="amount" readOnly value={expected(live?.quote, price, buy)} />
          <p class="note">
            {live
              ? `At least ${show(live.quote.minBuyAmount, buy?.decimals ?? 0, 6)}, or it fails.`
              : price && 'Indicative: nothing was simulated yet.'}
          </p>
        </div>
        <TokenField label="Buy token" chosen={buy} choose={props.setBuy} />
        <div class="field short">
          <label for={`${id}-slip`}>Slippage</label>
          <input
            id={`${id}-slip`}
            inputMode="decimal"
            autocomplete="off"
            maxLength={5}
            value={slippageText}
            aria-describedby={`${id}-slip-note`}
            aria-invalid={typeof bpsAllowed === 'string'}
            onInput={(event) => setSlippageText(event.currentTarget.value)}
          />
          <p id={`${id}-slip-note`} class="note">
            {typeof bpsAllowed === 'string' ? bpsAllowed : 'percent less than quoted, at most'}
          </p>
        </div>
        <button type="submit" class={live ? '' : 'primary'} disabled={!asked || busy !== undefined}>
          Get quote
        </button>
      </form>
      {busy !== undefined && <p class="busy">{busy}</p>}
      {fault !== undefined && (
        <p role="alert" class="fault">
          {fault}
        </p>
      )}
      {live && buy && sell && (
        <div class="quote">
          <Sources quote={live.quote} buy={buy} />
          <Facts quote={live.quote} buy={buy} />
          <p class="note">A fresh quote follows in {left} s.</p>
          {issues?.allowance && !issues.balance ? (
            <button
              type="button"
              class="primary"
              disabled={busy !== undefined || privacy !== 'private'}
              onClick={approve}
            >
              Approve exactly {show(approvedAmount(issues.allowance, asked), sell.decimals)}{' '}
              {sell.symbol}
            </button>
          ) : (
            <button
              type="button"
              class="primary"
              disabled={busy !== undefined || blocked !== undefined}
              aria-describedby={`${id}-why`}
              onClick={swap}
            >
              Swap privately
            </button>
          )}
          <p id={`${id}-why`} class="note">
            {blocked}
          </p>
        </div>
      )}
    </section>
  )
}

function expected(quote: Quote | undefined, price: Price | undefined, buy: Token | undefined) {
  const amount = quote?.buyAmount ?? price?.buyAmount
  return amount === undefined || !buy ? '–' : `${show(amount, buy.decimals, 6)} ${buy.symbol}`
}

/**
 * State that belongs to one question. It is undefined as soon as another question is asked: an effect
 * that clears it could run after the next click. What is set for an earlier question is dropped.
 */
function useAnswer<T>(question: string) {
  const [held, setHeld] = useState<{ question: string; value: T | undefined }>()
  const current = useRef(question)
  current.current = question
  const set = (value: T | undefined, of = current.current): void => {
    if (of === current.current) setHeld({ question: of, value })
  }
  return [held?.question === question ? held.value : undefined, set] as const
}

function useCountdown(until: number | undefined, over: () => void): number {
  const [now, setNow] = useState(Date.now())
  const end = useRef(over)
  end.current = over
  useEffect(() => {
    if (until === undefined) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= until) {
        clearInterval(timer)
        end.current()
      }
    }, 500)
    setNow(Date.now())
    return () => clearInterval(timer)
  }, [until])
  return until === undefined ? 0 : Math.max(0, Math.ceil((until - now) / 1000))
}
