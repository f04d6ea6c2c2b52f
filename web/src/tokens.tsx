// Choosing a token: a combobox over the service's token lists, by symbol, name or address.

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { get, type Schemas } from './api'
import { shortened } from './amounts'
import { readable } from './text'
import { WARNINGS } from './words'

export type Token = Schemas['TokenEntry'] & {
  /** Of ETH: the token that is swapped for it. */
  wrapped?: Token
}

interface Props {
  label: string
  chosen: Token | undefined
  /** Offered first to one who types its name. */
  ether: Token | undefined
  choose(token: Token): void
  /** Called with true while something is typed that is not chosen yet. */
  typing(is: boolean): void
}

const WAIT_MS = 250
const SYMBOL_CHARS = 16
const NAME_CHARS = 48
const MILD = 'pausable/blacklist'

export async function find(search: string): Promise<Token[]> {
  const { tokens } = await get<{ tokens: Token[] }>('/api/v1/tokens', { search, limit: '8' })
  return tokens.map((token) => ({
    ...token,
    symbol: readable(token.symbol, SYMBOL_CHARS),
    name: readable(token.name, NAME_CHARS),
  }))
}

export function TokenField({ label, chosen, ether, choose, typing }: Props) {
  const id = useId()
  const [text, setText] = useState<string>()
  const [found, setFound] = useState<Token[]>([])
  const [foundFor, setFoundFor] = useState<string>()
  const [active, setActive] = useState(0)
  const [said, setSaid] = useState('')
  const turn = useRef(0)

  useEffect(() => {
    if (text === undefined || text.trim() === '') {
      setFound([])
      return
    }
    const mine = ++turn.current
    const timer = setTimeout(() => {
      find(text.trim()).then(
        (listed) => {
          if (mine !== turn.current) return
          const isEther = ether && 'ethereum'.startsWith(text.trim().toLowerCase())
          const tokens = isEther ? [ether, ...listed] : listed
          setFound(tokens)
          setFoundFor(text)
          setActive(0)
          setSaid(tokens.length ? '' : 'No token has this symbol, name or address.')
        },
        (error: Error) => mine === turn.current && setSaid(error.message),
      )
    }, WAIT_MS)
    return () => clearTimeout(timer)
  }, [text])

  const take = (token: Token | undefined): void => {
    if (token === undefined) return
    turn.current++
    choose(token)
    leave()
    setSaid('')
  }

  const leave = (): void => {
    setText(undefined)
    setFound([])
    typing(false)
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!found.length) return
    if (event.key === 'ArrowDown') setActive((active + 1) % found.length)
    else if (event.key === 'ArrowUp') setActive((active + found.length - 1) % found.length)
    else if (event.key === 'Enter') take(foundFor === text ? found[active] : undefined)
    else if (event.key === 'Escape') leave()
    else return
    event.preventDefault()
  }

  return (
    <div class="field token">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length ? `${id}-${active}` : undefined}
        aria-describedby={`${id}-said`}
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        value={text ?? chosen?.symbol ?? ''}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          setText(event.currentTarget.value)
          typing(true)
        }}
        onKeyDown={onKeyDown}
        onBlur={leave}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Tokens found" hidden={!found.length}>
        {found.map((token, index) => (
          <li
            key={token.address + token.symbol}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault()
              take(token)
            }}
          >
            <Monogram token={token} /> <bdi class="symbol">{token.symbol}</bdi>{' '}
            <bdi>{token.name}</bdi>{' '}
            {!token.wrapped && <code>{shortened(token.address)}</code>}
            {token.warnings.includes('unlisted') && <span class="warn"> unlisted</span>}
          </li>
        ))}
      </ul>
      <p id={`${id}-said`} class="note">
        {said || (chosen && <Described token={chosen} />)}
      </p>
    </div>
  )
}

/** A letter in a colour of the address: no picture of a foreign host, and no two tokens alike. */
const Monogram = ({ token }: { token: Token }) => (
  <span
    class="monogram"
    aria-hidden="true"
    style={{ backgroundColor: `hsl(${Number.parseInt(token.address.slice(2, 8), 16) % 360} 45% 30%)` }}
  >
    {[...token.symbol][0]}
  </span>
)

function Described({ token }: { token: Token }) {
  const warnings = token.warnings.filter((one) => !one.endsWith(' unknown'))
  return (
    <>
      <Monogram token={token} /> <bdi>{token.name}</bdi>{' '}
      {!token.wrapped && <code title={token.address}>{shortened(token.address)}</code>}
      {warnings.map((one) => (
        <span key={one} class={one === MILD ? '' : 'warn strong'}>
          {' '}
          {WARNINGS[one] ?? readable(one, NAME_CHARS)}
        </span>
      ))}
    </>
  )
}
