// What routers may still take from the wallet, and how a person ends it.

import { useState } from 'preact/hooks'
import type { Schemas } from '../api'
import { approvalData } from '../../../clients/typescript/src/batch'
import { shortened } from '../amounts'
import type { Connection } from '../connection'
import { NOT_PRIVATE, type Privacy } from '../privacy'
import { routerName } from '../quote'
import type { Order } from '../stream'
import { failureText, sendPrivately } from '../submit'
import { isUnlisted } from '../tokens'
import { Allowed, Fault, type Known } from './parts'

export interface AllowanceProps {
  connection: Connection
  privacy: Privacy
  holdings: Array<Schemas['TokenBalance']>
  tokens: Known
  placed(order: Order): void
}

interface Standing {
  address: string
  router: string
  amount: bigint
}

const standingOf = (holdings: AllowanceProps['holdings']): Standing[] =>
  holdings.flatMap(({ address, allowances }) =>
    allowances.flatMap(({ router, allowance }) =>
      allowance == null || allowance === '0' ? [] : [{ address, router, amount: BigInt(allowance) }],
    ),
  )

/** Revokes one allowance at a time. */
function useRevoke({ connection, tokens, placed }: AllowanceProps) {
  const [busy, setBusy] = useState('')
  const [fault, setFault] = useState('')
  const [revoked, setRevoked] = useState<string[]>([])
  const revoke = async ({ address, router }: Standing): Promise<void> => {
    setFault('')
    setBusy('In your wallet, confirm: approve 0. It ends the allowance.')
    try {
      const { decimals = 0, symbol = '' } = tokens[address] ?? {}
      const tx = { to: address, data: approvalData(router, 0n), value: '0' }
      const terms = { kind: 'approval', fromToken: address, amount: '0', decimals, symbol } as const
      const { order, otherwise } = await sendPrivately(connection, tx, terms, { isStill: () => true })
      placed(order)
      setFault(otherwise)
      setRevoked((before) => [...before, address + router])
    } catch (error) {
      setFault(failureText(error, connection.wallet.name))
    } finally {
      setBusy('')
    }
  }
  return { busy, fault, revoked, revoke }
}

export function Allowances(props: AllowanceProps) {
  const { privacy, holdings, tokens } = props
  const { busy, fault, revoked, revoke } = useRevoke(props)
  const standing = standingOf(holdings)
  if (!standing.length) return <Fault text={fault} />
  return (
    <section class="side allowances" aria-label="Allowances">
      <h2>
        <span>Allowances</span>
        <span>{standing.length} left</span>
      </h2>
      <ul class="stack s">
        {standing.map((one) => (
          <Row
            key={one.address + one.router}
            standing={one}
            tokens={tokens}
            isUnderWay={revoked.includes(one.address + one.router)}
            isOff={busy !== '' || privacy !== 'private'}
            revoke={() => void revoke(one)}
          />
        ))}
      </ul>
      {privacy !== 'private' && <p class="note">{NOT_PRIVATE[privacy]}</p>}
      {busy && <p class="note" role="status">{busy}</p>}
      <Fault text={fault} />
    </section>
  )
}

interface RowProps {
  standing: Standing
  tokens: Known
  isUnderWay: boolean
  isOff: boolean
  revoke(): void
}

function Row({ standing: { address, router, amount }, tokens, isUnderWay, isOff, revoke }: RowProps) {
  const token = tokens[address]
  return (
    <li class="row">
      <div>
        <p><Allowed amount={amount} address={address} tokens={tokens} /></p>
        <p class="small soft">
          for {routerName(router)} <code title={router}>{shortened(router)}</code>
        </p>
      </div>
      {token && !isUnlisted(token) ? (
        <button
          class="btn danger end"
          type="button"
          aria-label={`Revoke ${token.symbol} of ${shortened(router)}`}
          disabled={isUnderWay || isOff}
          onClick={revoke}
        >
          {isUnderWay ? 'Under way' : 'Revoke'}
        </button>
      ) : (
        <span class="note end">Revoke it over another RPC URL: no list has this token.</span>
      )}
    </li>
  )
}
