// The tokens of the service's lists, and what the wallet has of them.

import { get, type Schemas } from './api'
import { readable } from './text'

export type Token = Schemas['TokenEntry'] & {
  /** Of ETH: the token that is swapped for it. */
  wrapped?: Token
}

const SYMBOL_CHARS = 16
const NAME_CHARS = 48

/** ETH in a list of tokens; what is quoted and swapped is its `wrapped` token. */
export const etherOf = (weth: Token): Token => ({
  ...weth,
  symbol: 'ETH',
  name: 'Ether',
  warnings: [],
  wrapped: weth,
})

export const isUnlisted = ({ warnings }: Token): boolean => warnings.includes('unlisted')

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
export type Held = Token & { held: string | undefined }

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

/** What is listed for a text: of '' the first tokens of the lists. Raises ApiError. */
export async function listed(
  text: string,
  ether: Token | undefined,
  wallet: string | undefined,
): Promise<Array<Token & Partial<Held>>> {
  const tokens = await find(text, text === '' ? WHOLE_LIST : undefined)
  if (ether && 'ethereum'.startsWith(text.toLowerCase())) tokens.unshift(ether)
  return wallet && tokens.length ? ranked(await withBalances(wallet, tokens), text) : tokens
}

