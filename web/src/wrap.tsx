// Wrap and unwrap: ETH to WETH and back, through the same private connection.

import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useAnswer } from './answer'
import { wrapFaults } from '../../clients/typescript/src/params'
import { post, type Schemas } from './api'
import { parse, show } from './amounts'
import { type Connection, NOT_PRIVATE, type Privacy } from './connect'
import { Guard, isConsented } from './guard'
import { Fault, Outdated } from './parts'
import type { Order } from './stream'
import { failureText, sendPrivately } from './submit'
import { readable, SENTENCE } from './text'

interface StepProps {
  connection: Connection
  privacy: Privacy
  operation: 'wrap' | 'unwrap'
  /** Wei; undefined as long as none is readable. */
  amount: bigint | undefined
  isShort?: boolean
  /** What comes before the button. */
  children?: ComponentChildren
  say(text: string): void
  /** Called with the order that the transaction became; `isStill`: nothing was edited meanwhile. */
  placed(order: Order, isStill: boolean): void
  /** Called with a failure of a transaction whose form is no longer shown. */
  lost(text: string): void
  /** Called when the wallet is asked, and when it has answered. */
  asks?: (is: boolean) => void
}

type Quote = Schemas['WrapQuoteResponse']

/** One wrap or unwrap: asked for, checked, its notes and loss shown, signed. */
export function WrapForm(props: StepProps) {
  const { connection, privacy, operation, amount, say, placed } = props
  const question = `${operation} ${amount ?? ''}`
  const [held, setHeld] = useAnswer<Quote>(question)
  const [consent = '', setConsent] = useAnswer<string>(question)
  const [busy, setBusy] = useState<{ text: string; question: string }>()
  const [fault, setFault] = useState<string>()
  const current = useRef<string>(question)
  current.current = question
  // not after the paint: the wallet may answer before it
  useLayoutEffect(() => () => void (current.current = 'left'), [])
  const [from, to] = operation === 'wrap' ? ['ETH', 'WETH'] : ['WETH', 'ETH']
  const name = operation === 'wrap' ? 'Wrap' : 'Unwrap'

  /** Asks for the transaction, checks it, and lets the wallet sign it, unless it has notes or its gas is dear. */
  const go = async (): Promise<void> => {
    if (amount === undefined) return
    const isStill = (): boolean => current.current === question
    const busyWith = (text: string): void => setBusy({ text, question })
    setFault(undefined)
    props.asks?.(true)
    busyWith('Asking the service for the transaction…')
    try {
      const text = show(amount, 18).replaceAll(',', '')
      const body = { operation, amount: text, userAddress: connection.address, chainId: 1 }
      const { quote } = await post<Schemas['WrapQuoteData']>('/api/v1/mev/wrap/quote', body)
      if (!isStill()) return
      const faults = wrapFaults(quote, operation, amount)
      if (faults.length) throw new Error(`The transaction has ${faults.join(', ')}. Nothing was sent.`)
      const isRead = quote.notes.every((note) => held?.notes.includes(note))
      if (!isRead || !isConsented(quote.loss, consent)) return setHeld(quote, question)
      busyWith(`In your wallet, confirm: ${operation} ${show(amount, 18)} ${from}.`)
      const { nonce: _, ...tx } = quote.mevProtection.transactionParams
      placed(await sendPrivately(connection, 'wrap', tx, isStill), isStill())
      setHeld(undefined, question)
      setConsent(undefined, question)
      say(`The ${operation} is under way.`)
    } catch (error) {
      if (current.current === 'left') props.lost(failureText(error))
      else setFault(failureText(error))
    } finally {
      props.asks?.(false)
      setBusy(undefined)
    }
  }

  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        {props.children}
        {held?.notes.map((note) => (
          <p key={note} class="warn">
            {readable(note, SENTENCE)}
          </p>
        ))}
        {held && (
          <Guard
            loss={held.loss}
            action={operation}
            consent={consent}
            setConsent={(text) => setConsent(text, question)}
          />
        )}
        <button
          type="submit"
          class="primary"
          disabled={
            busy !== undefined ||
            amount === undefined ||
            props.isShort ||
            privacy !== 'private' ||
            (held !== undefined && !isConsented(held.loss, consent))
          }
        >
          {amount === undefined ? name : `${name} ${show(amount, 18)} ${from}`}
        </button>
        <p class="note">
          {privacy === 'private'
            ? `You get the same amount of ${to}, and pay the gas in ETH.`
            : NOT_PRIVATE[privacy]}
        </p>
      </form>
      {busy !== undefined && <p class="busy">{busy.text}</p>}
      {busy !== undefined && busy.question !== question && <Outdated />}
      <Fault text={fault} />
    </>
  )
}

interface Props {
  connection: Connection
  privacy: Privacy
  eth: string | undefined
  weth: string | undefined
  hidden: boolean
  say(text: string): void
  placed(order: Order): void
  lost(text: string): void
}

export function Wrap({ connection, privacy, eth, weth, hidden, say, placed, lost }: Props) {
  const id = useId()
  const [operation, setOperation] = useState<'wrap' | 'unwrap'>('wrap')
  const [text, setText] = useState('')
  const amount = parse(text, 18)
  const balance = operation === 'wrap' ? eth : weth
  const isShort = typeof amount === 'bigint' && balance !== undefined && BigInt(balance) < amount
  const from = operation === 'wrap' ? 'ETH' : 'WETH'
  return (
    <section aria-labelledby={`${id}-title`} hidden={hidden}>
      <h2 id={`${id}-title`}>Wrap and unwrap</h2>
      <WrapForm
        connection={connection}
        privacy={privacy}
        operation={operation}
        amount={typeof amount === 'bigint' ? amount : undefined}
        isShort={isShort}
        say={say}
        placed={(order, isStill) => {
          placed(order)
          if (isStill) setText('')
        }}
        lost={lost}
      >
        <fieldset>
          <legend>Direction</legend>
          {(['wrap', 'unwrap'] as const).map((one) => (
            <label key={one} class="choice">
              <input
                type="radio"
                name={`${id}-operation`}
                checked={operation === one}
                onChange={() => setOperation(one)}
              />{' '}
              {one === 'wrap' ? 'ETH to WETH' : 'WETH to ETH'}
            </label>
          ))}
        </fieldset>
        <div class="field">
          <label for={`${id}-amount`}>Amount in {from}</label>
          <input
            id={`${id}-amount`}
            inputMode="decimal"
            autocomplete="off"
            maxLength={80}
            value={text}
            aria-describedby={`${id}-note`}
            aria-invalid={text !== '' && (typeof amount === 'string' || isShort)}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p id={`${id}-note`} class="note">
            {text !== '' && typeof amount === 'string' && `${amount} `}
            {balance !== undefined && `You have ${show(balance, 18, 6)} ${from}.`}
            {isShort && <strong class="warn"> That is less than this amount.</strong>}
          </p>
        </div>
      </WrapForm>
    </section>
  )
}
