// What routers may still take from the wallet, and how a person ends it.

import { useState } from 'preact/hooks'
import type { Schemas } from './api'
import { approveData, shortened } from './amounts'
import { type Connection, NOT_PRIVATE, type Privacy } from './connect'
import { Allowed, Fault, type Known } from './parts'
import type { Order } from './stream'
import { failureText, sendPrivately } from './submit'

interface Props {
  connection: Connection
  privacy: Privacy
  holdings: Array<Schemas['TokenBalance']>
  tokens: Known
  placed(order: Order): void
}

export function Allowances({ connection, privacy, holdings, tokens, placed }: Props) {
  const [busy, setBusy] = useState<string>()
  const [fault, setFault] = useState<string>()
  const [revoked, setRevoked] = useState<string[]>([])
  const standing = holdings.flatMap(({ address, allowances }) =>
    allowances.flatMap(({ router, allowance }) =>
      allowance == null || allowance === '0' ? [] : [{ address, router, amount: BigInt(allowance) }],
    ),
  )
  if (!standing.length) return null

  const revoke = async (address: string, router: string): Promise<void> => {
    setFault(undefined)
    setBusy('In your wallet, confirm: approve 0. It ends the allowance.')
    try {
      const tx = { to: address, data: approveData(router, 0n), value: '0' }
      placed(await sendPrivately(connection, 'approval', tx, () => true))
      setRevoked((before) => [...before, address + router])
    } catch (error) {
      setFault(failureText(error))
    } finally {
      setBusy(undefined)
    }
  }

  return (
    <section aria-labelledby="allowances">
      <h2 id="allowances">Allowances</h2>
      <p class="note">
        What routers of this service may take of the tokens above and in your orders. An exact
        approval is used up by its swap.
      </p>
      <ul class="allowances">
        {standing.map(({ address, router, amount }) => {
          const token = tokens[address]
          const isListed = token !== undefined && !token.warnings.includes('unlisted')
          return (
            <li key={address + router}>
              <Allowed amount={amount} address={address} tokens={tokens} />{' '}
              <span>
                by <code title={router}>{shortened(router)}</code>
              </span>{' '}
              {isListed ? (
                <button
                  type="button"
                  aria-label={`Revoke ${token.symbol} of ${shortened(router)}`}
                  disabled={busy !== undefined || privacy !== 'private' || revoked.includes(address + router)}
                  onClick={() => void revoke(address, router)}
                >
                  {revoked.includes(address + router) ? 'Under way' : 'Revoke'}
                </button>
              ) : (
                <span class="note">Revoke it over another RPC URL: no list has this token.</span>
              )}
            </li>
          )
        })}
      </ul>
      {privacy !== 'private' && <p class="note">{NOT_PRIVATE[privacy]}</p>}
      {busy !== undefined && <p class="busy">{busy}</p>}
      <Fault text={fault} />
    </section>
  )
}
