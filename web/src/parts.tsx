// What several parts of the page show: amounts, facts, failures.

import type { ComponentChildren } from 'preact'
import { show, shortened } from './amounts'
import type { Token } from './tokens'

/** The tokens that the page has read, by address. */
export interface Known {
  [address: string]: Token | undefined
}

/** More is what wallets call unlimited. */
const UNLIMITED = 1n << 128n

interface TokenProps {
  address: string
  tokens: Known
}

interface AmountProps extends TokenProps {
  amount: string | bigint
  places?: number
}

export function Amount({ amount, address, tokens, places = 6 }: AmountProps) {
  const token = tokens[address]
  if (!token) return <span>{`${amount} units of ${shortened(address)}`}</span>
  return (
    <span>
      {show(amount, token.decimals, places)} <bdi>{token.symbol}</bdi>
    </span>
  )
}

export const Symbol = ({ address, tokens }: TokenProps) =>
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

/** Anyone can deploy a token with a known symbol, and send a link that names it. */
export const Named = ({ token: { symbol, address, warnings } }: { token: Token }) => (
  <>
    <bdi>{symbol}</bdi>
    {warnings.includes('unlisted') && ` (unlisted, ${shortened(address)})`}
  </>
)

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
)

export const Fault = ({ text }: { text: string | undefined }) =>
  text ? (
    <p role="alert" class="fault">
      {text}
    </p>
  ) : null

/** What was changed while the wallet asks. */
export const Outdated = () => (
  <p class="warn">
    You changed the form. Your wallet still asks for what it was given: decline it there if you no longer want
    it.
  </p>
)
