// The token sheet: a search field and a list of buttons. An unlisted token is taken by its own button alone.

import { useEffect, useRef, useState } from 'preact/hooks'
import { short } from '../figures'
import { shortened } from '../amounts'
import { type Held, isUnlisted, listed, type Token } from '../tokens'
import { readable } from '../text'
import { LOOK_ALIKE, WARNINGS } from '../words'
import { Icon, Picture } from './icons'
import { Dialog, Message } from './parts'

const WAIT_MS = 250
const WORD_CHARS = 48
const MILD = 'pausable/blacklist'

type Entry = Token & Partial<Held>

interface Props {
  title: string
  /** Whose balances are listed; undefined for none. */
  wallet: string | undefined
  ether: Token | undefined
  choose(token: Token): void
  close(): void
}

/** What is found for a text, once it was not typed on for a moment. */
function useListed(text: string, { ether, wallet }: Pick<Props, 'ether' | 'wallet'>) {
  const [entries, setEntries] = useState<readonly Entry[]>()
  const [of, setOf] = useState<string>()
  const [problem, setProblem] = useState('')
  const turn = useRef(0)
  useEffect(() => {
    const mine = ++turn.current
    const search = text.trim()
    const timer = setTimeout(() => {
      listed(search, ether, wallet).then(
        (tokens) => {
          if (mine !== turn.current) return
          setEntries(tokens)
          setOf(text)
          setProblem('')
        },
        (error: Error) => mine === turn.current && setProblem(error.message),
      )
    }, search === '' ? 0 : WAIT_MS)
    return () => clearTimeout(timer)
  }, [text, wallet])
  return { entries: entries ?? [], isOfText: of === text, problem }
}

export function TokenSheet(props: Props) {
  const { title, wallet, choose, close } = props
  const [text, setText] = useState('')
  const list = useRef<HTMLDivElement>(null)
  const { entries, isOfText, problem } = useListed(text, props)
  const trusted = entries.filter((token) => !isUnlisted(token))
  const others = entries.filter(isUnlisted)
  const owned = text === '' && wallet ? trusted.filter(({ held }) => held !== undefined && held !== '0') : []
  const rest = trusted.filter((token) => !owned.includes(token))

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>('button.it') ?? [])]
    if (!step || !buttons.length) return
    event.preventDefault()
    const at = buttons.indexOf(document.activeElement as HTMLElement)
    buttons[at < 0 ? (step > 0 ? 0 : buttons.length - 1) : (at + step + buttons.length) % buttons.length]?.focus()
  }
  return (
    <Dialog title={title} close={close} first="input">
      <div onKeyDown={move}>
        <Search
          text={text}
          change={setText}
          // an unlisted token is never taken by Enter
          enter={() => isOfText && trusted[0] && choose(trusted[0])}
        />
        <div class="list" id="found" ref={list} aria-busy={!isOfText}>
          <Group {...props} title="In your wallet" tokens={owned} />
          <Group {...props} title="On a token list" tokens={rest} />
          {others.length > 0 && <h3>On no token list of this service</h3>}
          {others.map((token) => (
            <Unlisted key={token.address} token={token} choose={choose} />
          ))}
        </div>
        <p role="status" class="note">
          {problem || (isOfText && !entries.length && 'No token has this symbol, name or address.')}
        </p>
      </div>
    </Dialog>
  )
}

interface SearchProps {
  text: string
  change(text: string): void
  enter(): void
}

const Search = ({ text, change, enter }: SearchProps) => (
  <form
    class="search"
    onSubmit={(event) => {
      event.preventDefault()
      enter()
    }}
  >
    <label class="field">
      <span class="vh">Search by symbol, name or address</span>
      <Icon name="search" />
      <input
        type="search"
        aria-controls="found"
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        placeholder="Symbol, name or address"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  </form>
)

const Group = ({ title, tokens, wallet, choose }: Props & { tokens: readonly Entry[] }) =>
  tokens.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      {tokens.map((token) => (
        <Row key={token.address + token.symbol} token={token} hasBalance={wallet !== undefined} choose={choose} />
      ))}
    </>
  )

interface RowProps {
  token: Entry
  hasBalance: boolean
  choose(token: Token): void
}

const Row = ({ token, hasBalance, choose }: RowProps) => (
  <button class="it" type="button" onClick={() => choose(token)}>
    <Picture token={token} size="l" />
    <b>
      <bdi>{token.symbol}</bdi>
    </b>
    <span class="r">{hasBalance && (token.held === undefined ? <span class="soft small">not read</span> : short(token.held, token.decimals))}</span>
    <small>
      <bdi>{token.name}</bdi>
      {!token.wrapped && (
        <>
          {' · '}
          <code>{shortened(token.address)}</code>
        </>
      )}
      {warningsOf(token).map((text) => (
        <span key={text}> · {text}</span>
      ))}
    </small>
  </button>
)

function Unlisted({ token, choose }: { token: Token; choose(token: Token): void }) {
  const isAlike = token.warnings.some((one) => LOOK_ALIKE.includes(one))
  return (
    <Message
      tone="bad"
      icon="danger"
      role="group"
      title={<>{isAlike ? 'This is not ' : 'No list has '}<bdi>{token.symbol}</bdi></>}
    >
      {warningsOf(token).map((text) => (
        <p key={text}>{text}</p>
      ))}
      <p>
        <bdi>{token.name}</bdi> <code class="whole">{token.address}</code>
      </p>
      <div class="row">
        <Picture token={token} />
        <button class="btn danger end" type="button" onClick={() => choose(token)}>
          Use it anyway
        </button>
      </div>
    </Message>
  )
}

/** What to know before a trade, in words. */
export const warningsOf = ({ warnings }: Token, isAll = true): string[] =>
  warnings
    .filter((one) => !one.endsWith(' unknown') && (isAll || one !== MILD))
    .map((one) => WARNINGS[one] ?? readable(one, WORD_CHARS))

/** The warnings of a chosen token, with its whole address where no list has it. */
export function Chosen({ token }: { token: Token | undefined }) {
  if (!token) return null
  const warnings = warningsOf(token, false)
  if (!warnings.length) return null
  return (
    <Message tone="bad" icon="danger" role="group" title={<><bdi>{token.symbol}</bdi>: look before you trade it</>}>
      {warnings.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {isUnlisted(token) && <code class="whole">{token.address}</code>}
    </Message>
  )
}
