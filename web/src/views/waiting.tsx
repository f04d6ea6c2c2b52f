// A step that a block has not decided yet: what it waits for, what is done, and what follows.

import type { Inclusion } from '../api'
import { isUnsent, type Order } from '../stream'
import type { Trade } from '../trade/machine'
import { duration, expected } from '../words'
import { Message, useNow } from './parts'

interface Props {
  trade: Trade
  /** The order of the step. */
  order: Order | undefined
  inclusion: Inclusion | null | undefined
}

export function StepWait({ trade, order, inclusion }: Props) {
  const seen = useNow()
  if (trade.phase !== 'waiting') return null
  const [next] = trade.left
  const waited = order && duration((seen - Date.parse(order.submittedAt ?? order.createdAt)) / 1_000)
  const isSent = order !== undefined && order.status !== 'pending' && !isUnsent(order)
  return (
    <Message icon="clock" title={`${isSent ? 'Sent privately' : 'On its way to the private relay'}${waited ? `, ${waited} ago` : ''}`} class="step-wait">
      <p>
        Time to a block: {expected(inclusion)}. {next && `Then you sign the next step here: ${next}. `}Nothing is swapped yet.
      </p>
    </Message>
  )
}
