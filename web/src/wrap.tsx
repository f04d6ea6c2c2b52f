// Wrap and unwrap: ETH to WETH and back, through the same private connection.

import { useId, useRef, useState } from 'preact/hooks'
import { wrapFaults } from '../../clients/typescript/src/params'
import { post, type Schemas } from './api'
import { parse, show } from './amounts'
import { type Connection, NOT_PRIVATE, type Privacy } from './connect'
import { Guard, isConsented } from './guard'
import type { Order } from './stream'
import { failureText, sendPrivately } from './submit'
import { readable, SENTENCE } from './text'

interface Props {
  connection: Connection
  privacy: Privacy
  eth: string | undefined
  weth: string | undefined
  say(text: string): void
  placed(order: Order): void
}

type Quote = Schemas['WrapQuoteResponse']

export function Wrap({ connection, privacy, eth, weth, say, placed }: Props) {
  const id = useId()
  const [operation, setOperation] = useState<'wrap' | 'unwrap'>('wrap')
  const [text, setText] = useState('')
  const [busy, setBusy] = useState<string>()
  const [isOutdated, setOutdated] = useState(false)
  const [fault, setFault] = useState<string>()
  const [held, setHeld] = useState<Quote>()
  const [consent, setConsent] = useState('')
  const edits = useRef(0)
  const amount = parse(text, 18)
  const balance = operation === 'wrap' ? eth : weth
  const isShort = typeof amount === 'bigint' && balance !== undefined && BigInt(balance) < amount
  const [from, to] = operation === 'wrap' ? ['ETH', 'WETH'] : ['WETH', 'ETH']
  const name = operation === 'wrap' ? 'Wrap' : 'Unwrap'

  const edited = (): void => {
    edits.current++
    setHeld(undefined)
    setConsent('')
    if (busy !== undefined) setOutdated(true)
  }

  /** Asks for the transaction, checks it, and lets the wallet sign it, unless it has notes or its gas is dear. */
  const go = async (): Promise<void> => {
    if (typeof amount !== 'bigint') return
    const mine = edits.current
    const isStill = (): boolean => mine === edits.current
    setFault(undefined)
    setOutdated(false)
    setBusy('Asking the service for the transaction…')
    try {
      const body = { operation, amount: text.trim(), userAddress: connection.address, chainId: 1 }
      const { quote } = await post<Schemas['WrapQuoteData']>('/api/v1/mev/wrap/quote', body)
      if (!isStill()) return
      const faults = wrapFaults(quote, operation, amount)
      if (faults.length) throw new Error(`The transaction has ${faults.join(', ')}. Nothing was sent.`)
      const isRead = quote.notes.every((note) => held?.notes.includes(note))
      if (!isRead || !isConsented(quote.loss, consent)) return setHeld(quote)
      setBusy(`In your wallet, confirm: ${operation} ${show(amount, 18)} ${from}.`)
      const { nonce: _, ...tx } = quote.mevProtection.transactionParams
      placed(await sendPrivately(connection, 'wrap', tx, isStill))
      if (isStill()) {
        edited()
        setText('')
      }
      say(`The ${operation} is under way.`)
    } catch (error) {
      setFault(failureText(error))
    } finally {
      setBusy(undefined)
      setOutdated(false)
    }
  }

  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Wrap and unwrap</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        <fieldset>
          <legend>Direction</legend>
          {(['wrap', 'unwrap'] as const).map((one) => (
            <label key={one} class="choice">
              <input
                type="radio"
                name={`${id}-operation`}
                checked={operation === one}
                onChange={() => {
                  edited()
                  setOperation(one)
                }}
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
            onInput={(event) => {
              edited()
              setText(event.currentTarget.value)
            }}
          />
          <p id={`${id}-note`} class="note">
            {text !== '' && typeof amount === 'string' && `${amount} `}
            {balance !== undefined && `You have ${show(balance, 18, 6)} ${from}.`}
            {isShort && <strong class="warn"> That is less than this amount.</strong>}
          </p>
        </div>
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
            setConsent={setConsent}
          />
        )}
        <button
          type="submit"
          class="primary"
          disabled={
            busy !== undefined ||
            typeof amount !== 'bigint' ||
            isShort ||
            privacy !== 'private' ||
            (held !== undefined && !isConsented(held.loss, consent))
          }
        >
          {typeof amount === 'bigint' ? `${name} ${show(amount, 18)} ${from}` : name}
        </button>
        <p class="note">
          {privacy === 'private'
            ? `You get the same amount of ${to}, and pay the gas in ETH.`
            : NOT_PRIVATE[privacy]}
        </p>
      </form>
      {busy !== undefined && <p class="busy">{busy}</p>}
      {isOutdated && (
        <p class="warn">
          You changed the form. Your wallet may still ask for what it was given: decline it there if
          you no longer want it.
        </p>
      )}
      {fault !== undefined && (
        <p role="alert" class="fault">
          {fault}
        </p>
      )}
    </section>
  )
}
