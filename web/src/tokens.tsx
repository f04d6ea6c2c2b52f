// Choosing a token: a combobox over the service's token lists, by symbol, name or address.

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { get, type Schemas } from './api'
import { show, shortened } from './amounts'
import { readable } from './text'
import { WARNINGS } from './words'

export type Token = Schemas['TokenEntry'] & {
  /** Of ETH: the token that is swapped for it. */
  wrapped?: Token
}

interface Props {
  label: string
  chosen: Token | undefined
  /** Whose balances are listed; undefined for none. */
  wallet: string | undefined
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

export async function find(search: string, limit = '8'): Promise<Token[]> {
  const { tokens } = await get<{ tokens: Token[] }>('/api/v1/tokens', { search, limit })
  return tokens.map((token) => ({
    ...token,
    symbol: readable(token.symbol, SYMBOL_CHARS),
    name: readable(token.name, NAME_CHARS),
  }))
}

/** Most tokens whose balances the service reads in one request. */
const WHOLE_LIST = '50'
const PATIENCE_MS = 2_000

/** A token with what the wallet has of it; undefined if that was not read. */
type Held = Token & { held: string | undefined }

/** The tokens with their balances at one block, by one request. */
async function withBalances(wallet: string, tokens: readonly Token[]): Promise<Held[]> {
  const query = { tokens: [...new Set(tokens.map(({ address }) => address))].join() }
  const late = new Promise<undefined>((wake) => setTimeout(wake, PATIENCE_MS))
  const read = get<Schemas['BalancesResponse']>(`/api/v1/mev/balances/${wallet}`, query)
  const found = await Promise.race([read.catch(() => undefined), late])
  const balances = new Map(found?.tokens.map(({ address, balance }) => [address, balance]))
  const units = (text: string | null | undefined) => (/^\d+$/.test(text ?? '') ? (text ?? '') : undefined)
  return tokens.map((token) => ({
    ...token,
    held: units(token.wrapped ? found?.eth.wei : balances.get(token.address)),
  }))
}

/** The token with this very symbol first, then what the wallet has, then the others. */
function ranked(tokens: readonly Held[], text: string): Held[] {
  const place = ({ symbol, held }: Held): number =>
    symbol.toLowerCase() === text.toLowerCase() ? 0 : held && held !== '0' ? 1 : 2
  return [...tokens].sort((a, b) => place(a) - place(b))
}

/** What is listed for a text: of '' the first tokens of the lists. */
async function listed(
  text: string,
  ether: Token | undefined,
  wallet: string | undefined,
): Promise<Array<Token & Partial<Held>>> {
  const tokens = await find(text, text === '' ? WHOLE_LIST : undefined)
  if (ether && 'ethereum'.startsWith(text.toLowerCase())) tokens.unshift(ether)
  return wallet && tokens.length ? ranked(await withBalances(wallet, tokens), text) : tokens
}

export function TokenField({ label, chosen, wallet, ether, choose, typing }: Props) {
  const id = useId()
  const [text, setText] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const [found, setFound] = useState<Array<Token & Partial<Held>>>([])
  const [foundFor, setFoundFor] = useState<string>()
  const [active, setActive] = useState(-1)
  const [said, setSaid] = useState('')
  const turn = useRef(0)

  useEffect(() => {
    const mine = ++turn.current
    if (text === undefined && !isOpen) {
      setFound([])
      return
    }
    const wanted = (text ?? '').trim()
    const timer = setTimeout(() => {
      listed(wanted, ether, wallet).then(
        (tokens) => {
          if (mine !== turn.current) return
          setFound(tokens)
          setFoundFor(text)
          setActive(wanted === '' ? -1 : 0)
          setSaid(tokens.length ? '' : 'No token has this symbol, name or address.')
        },
        (error: Error) => mine === turn.current && setSaid(error.message),
      )
    }, wanted === '' ? 0 : WAIT_MS)
    return () => clearTimeout(timer)
  }, [text, isOpen, wallet])

  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [active])

  const take = (token: Token | undefined): void => {
    if (token === undefined) return
    choose(token)
    leave()
    setSaid('')
  }

  const leave = (): void => {
    turn.current++
    setText(undefined)
    setOpen(false)
    setFound([])
    typing(false)
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!found.length) {
      if (event.key !== 'ArrowDown') return
      setOpen(true)
    } else if (event.key === 'ArrowDown') setActive((active + 1) % found.length)
    else if (event.key === 'ArrowUp') setActive((active < 1 ? found.length : active) - 1)
    else if (event.key === 'Enter' && active >= 0) take(foundFor === text ? found[active] : undefined)
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
        aria-activedescendant={found.length && active >= 0 ? `${id}-${active}` : undefined}
        aria-describedby={`${id}-said`}
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        value={text ?? chosen?.symbol ?? ''}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setOpen(true)}
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
            {wallet && (
              <span class="held">
                {token.held === undefined ? 'not read' : show(token.held, token.decimals, 4)}
              </span>
            )}
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
