// Wrap and unwrap: ETH to WETH and back, through the same private connection.

import { useId, useState } from 'preact/hooks'
import { post, type Schemas } from './api'
import { parse, show } from './amounts'
import type { Connection, Privacy } from './connect'
import type { Order } from './stream'
import { failureText, sendPrivately } from './submit'

interface Props {
  connection: Connection
  privacy: Privacy
  eth: string | undefined
  weth: string | undefined
  say(text: string): void
  placed(order: Order): void
}

export function Wrap({ connection, privacy, eth, weth, say, placed }: Props) {
  const id = useId()
  const [operation, setOperation] = useState<'wrap' | 'unwrap'>('wrap')
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  const amount = parse(text, 18)
  const held = operation === 'wrap' ? eth : weth
  const isShort = typeof amount === 'bigint' && held !== undefined && BigInt(held) < amount
  const [from, to] = operation === 'wrap' ? ['ETH', 'WETH'] : ['WETH', 'ETH']

  const go = async (): Promise<void> => {
    setBusy(true)
    setFault(undefined)
    try {
      const body = { operation, amount: text.trim(), userAddress: connection.address, chainId: 1 }
      const { quote } = await post<Schemas['WrapQuoteData']>('/api/v1/mev/wrap/quote', body)
      const { nonce: _, ...tx } = quote.mevProtection.transactionParams
      placed(await sendPrivately(connection, 'wrap', tx))
      setText('')
      say(`The ${operation} is under way.`)
    } catch (error) {
      setFault(failureText(error))
    } finally {
      setBusy(false)
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
            {held !== undefined && `You have ${show(held, 18, 6)} ${from}.`}
            {isShort && <strong class="warn"> That is less than this amount.</strong>}
          </p>
        </div>
        <button
          type="submit"
          class="primary"
          disabled={busy || typeof amount !== 'bigint' || isShort || privacy !== 'private'}
        >
          {operation === 'wrap' ? 'Wrap privately' : 'Unwrap privately'}
        </button>
        <p class="note">
          {privacy === 'private'
            ? `You get the same amount of ${to}, less gas.`
            : 'Your wallet does not use the private connection yet: see above.'}
        </p>
      </form>
      {busy && <p class="busy">Confirm it in your wallet…</p>}
      {fault !== undefined && (
        <p role="alert" class="fault">
          {fault}
        </p>
      )}
    </section>
  )
}
