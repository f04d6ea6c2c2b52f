// What several views are made of: messages, facts, dialogs, amounts.

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { show, shortened } from '../amounts'
import { now } from '../api'
import { figure, short } from '../figures'
import type { Token } from '../tokens'
import { Icon } from './icons'

/** The tokens that the page has read, by address. */
export interface Known {
  [address: string]: Token | undefined
}

/** More is what wallets call unlimited. */
const UNLIMITED = 1n << 128n

interface AmountProps {
  amount: string | bigint
  address: string
  tokens: Known
  /** `exact` has all digits, `list` few. */
  as?: 'figure' | 'list' | 'exact'
}

/** Amount and symbol stay on one line, unless the symbol is a long one. */
const KEPT = 8

const FORMS = { figure, list: short, exact: show }

export function Amount({ amount, address, tokens, as = 'figure' }: AmountProps) {
  const token = tokens[address]
  if (!token) return <span>{`${amount} units of ${shortened(address)}`}</span>
  return (
    <span class={token.symbol.length > KEPT ? '' : 'keep'} title={show(amount, token.decimals)}>
      {FORMS[as](amount, token.decimals)} <bdi>{token.symbol}</bdi>
    </span>
  )
}

export const Symbol = ({ address, tokens }: { address: string; tokens: Known }) =>
  tokens[address] ? <bdi>{tokens[address].symbol}</bdi> : <code>{shortened(address)}</code>

/** What a router may take. */
export const Allowed = ({ amount, ...of }: AmountProps) =>
  BigInt(amount) < UNLIMITED ? (
    <Amount amount={amount} {...of} />
  ) : (
    <span>
      any amount of <Symbol {...of} />
    </span>
  )

interface FactProps {
  name: string
  children: ComponentChildren
  more?: ComponentChildren
}

export const Fact = ({ name, children, more }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd>
      {children}
      {more && <small>{more}</small>}
    </dd>
  </div>
)

interface MessageProps {
  tone?: 'bad' | 'warn' | 'good' | ''
  icon?: 'danger' | 'info' | 'wallet' | 'clock' | 'tick'
  title: ComponentChildren
  children?: ComponentChildren
  /** `alert` is told at once, `status` politely. */
  role?: 'alert' | 'status' | 'group'
  class?: string
}

export const Message = ({ tone = '', icon = 'info', title, children, role, class: more = '' }: MessageProps) => (
  <div class={`msg ${tone} ${more}`} role={role} aria-label={role === 'group' && typeof title === 'string' ? title : undefined}>
    <Icon name={icon} />
    <p class="title">{title}</p>
    {children}
  </div>
)

/** What did not work: what happened, and what it means for the money. */
export const Fault = ({ text }: { text: string }) =>
  text === '' ? null : (
    <div class="msg bad fault" role="alert">
      <Icon name="danger" />
      <p>{text}</p>
    </div>
  )

interface DialogProps {
  title: string
  close(): void
  children: ComponentChildren
  /** CSS selector of what has the focus first; the title without it. */
  first?: string
}

/** A dialog, on a phone a sheet. Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, close, children, first }: DialogProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // not after the paint: the focus goes back with the dialog
  useLayoutEffect(() => {
    const opener = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    const focused = (first && shown?.querySelector<HTMLElement>(first)) || shown?.querySelector<HTMLElement>('h2')
    focused?.focus()
    return () => {
      shown?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClick={(event) => event.target === dialog.current && close()}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.preventDefault() // a search field would only empty itself
        close()
      }}
    >
      <div class="head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        <button class="icon-btn" type="button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
  )
}

/** The time by the service's clock, anew each second. */
export function useNow(): number {
  const [seen, setSeen] = useState(now)
  useEffect(() => {
    const timer = setInterval(() => setSeen(now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return seen
}

/** Copies a text, and says so for a moment. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button
      class="btn"
      type="button"
      onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true), () => undefined)}
    >
      <Icon name="copy" small />
      {isCopied ? 'Copied' : label}
    </button>
  )
}

/** A link to the block explorer, unless its address is none of the web. */
export function Explorer({ base, txHash, children, ...rest }: { base: string; txHash: string; class?: string; children?: ComponentChildren }) {
  if (!/^https?:\/\//.test(base)) return <code>{shortened(txHash)}</code>
  return (
    <a {...rest} href={`${base}/tx/${encodeURIComponent(txHash)}`} rel="noreferrer" target="_blank">
      {children ?? shortened(txHash)}
    </a>
  )
}
