// The header: pages, whether sending is private, the account; banners below it, and the footer.

import { useState } from 'preact/hooks'
import { shortened } from '../amounts'
import type { Status } from '../api'
import type { Connection } from '../connection'
import { NOT_PRIVATE, type PrivateSending } from '../privacy'
import { readable } from '../text'
import { Avatar, Icon, Mark } from './icons'
import { Copy, Dialog, Message, useNow } from './parts'
import { Colours } from './settings'

export type View = 'swap' | 'orders'

interface Props {
  view: View
  /** Orders in progress. */
  count: number
  connection: Connection | undefined
  sending: PrivateSending
  status: Status | null | undefined
  connect(): void
  open(sheet: 'private' | 'account'): void
}

export const Header = (props: Props) => (
  <header class="top">
    <div>
      <a class="brand" href="#">
        <Mark />
        <span>quietswap</span>
      </a>
      <nav aria-label="Pages">
        <a href="#" aria-current={props.view === 'swap' ? 'page' : undefined}>
          Swap
        </a>
        <a href="#orders" aria-current={props.view === 'orders' ? 'page' : undefined}>
          Orders
          {props.count > 0 && (
            <span class="count" aria-label={`${props.count} in progress`}>
              {props.count}
            </span>
          )}
        </a>
      </nav>
      <span class="gap" />
      {props.connection ? (
        <Chips {...props} connection={props.connection} />
      ) : (
        <button class="btn" type="button" onClick={props.connect}>
          Connect
        </button>
      )}
    </div>
  </header>
)

/** What the chip of the connection says, and whether it is good. */
function privacyChip({ sending: { privacy }, status }: Props): readonly [string, boolean | undefined] {
  if (status === null || privacy === 'service away') return ['Service away', false]
  if (privacy === 'other chain') return ['Wrong network', false]
  if (status?.relay === false) return ['Relay down', false]
  if (status?.node === false) return ['Node down', false]
  if (privacy === 'checking') return ['Checking', undefined]
  return privacy === 'private' ? ['Private', true] : ['Not private yet', false]
}

function Chips(props: Props & { connection: Connection }) {
  const { connection, open } = props
  const [words, isGood] = privacyChip(props)
  const [first, last] = [connection.address.slice(0, 6), connection.address.slice(-4)]
  return (
    <>
      <button class={`chip ${isGood === undefined ? '' : isGood ? 'ok' : 'no'}`} type="button" aria-label={words} onClick={() => open('private')}>
        <Icon name={isGood === false ? 'danger' : 'lock'} />
        <span>{words}</span>
      </button>
      <button
        class="chip account"
        type="button"
        title={connection.address}
        aria-label={`Account ${shortened(connection.address)}, ${connection.wallet.name}`}
        onClick={() => open('account')}
      >
        <Avatar address={connection.address} />
        <span>
          <span class="pre">{first}</span>…{last}
        </span>
      </button>
    </>
  )
}

interface AccountProps {
  connection: Connection
  disconnect(): void
  close(): void
}

export const Account = ({ connection, disconnect, close }: AccountProps) => (
  <Dialog title="Account" close={close}>
    <div class="row top-aligned">
      <Avatar address={connection.address} />
      <code class="whole">{connection.address}</code>
    </div>
    <p class="small soft spaced">
      <bdi>{connection.wallet.name}</bdi>, Ethereum
    </p>
    <div class="pair">
      <Copy text={connection.address} />
      <button class="btn" type="button" onClick={disconnect}>
        Disconnect
      </button>
    </div>
  </Dialog>
)

const DOWN = {
  away: ['This page cannot reach the service', 'What you see may be old. Nothing can be quoted or sent. It tries again every 3 s.'],
  relay: ['The private relay does not answer', 'Swaps wait: nothing is sent in public instead. Your orders go on.'],
  node: ['The service’s Ethereum node does not answer', 'No quotes, and no order changes its state until it does. Orders already sent stay with the relay.'],
  sources: ['No source of routes answers', 'Swaps cannot be quoted until one does. Your orders go on.'],
} as const

/** What does not work at the service. */
export function Banners({ status, isAway }: { status: Status | null | undefined; isAway: boolean }) {
  const troubles: Array<keyof typeof DOWN> = []
  if (status === null || isAway) troubles.push('away')
  else if (status) {
    if (!status.node) troubles.push('node')
    if (!status.relay) troubles.push('relay')
    if (!status.sources) troubles.push('sources')
  }
  return (
    <>
      {troubles.map((trouble) => (
        <Message key={trouble} class="banner" tone="bad" icon="danger" role="alert" title={DOWN[trouble][0]}>
          <p>{DOWN[trouble][1]}</p>
        </Message>
      ))}
    </>
  )
}

interface PrivateProps {
  sending: PrivateSending
  wallet: string
  close(): void
}

/** What is behind the chip: the remedy, or what is so and how to undo it. */
export function PrivateDialog(props: PrivateProps) {
  const { sending, close } = props
  if (sending.privacy === 'private') return <IsPrivate {...props} />
  if (sending.privacy === 'other chain') {
    return (
      <Dialog title="Wrong network" close={close}>
        <p class="spaced">Your wallet is on another chain. This service is for Ethereum mainnet.</p>
        <button class="go" type="button" onClick={sending.toMainnet}>
          Switch to Ethereum
        </button>
        <Problem text={sending.problem} />
      </Dialog>
    )
  }
  return <SetUp {...props} />
}

const Problem = ({ text }: { text: string }) => (
  <p class="note" role="status">
    {text}
  </p>
)

function IsPrivate({ sending, wallet, close }: PrivateProps) {
  const seen = useNow()
  const [isShown, setShown] = useState(false)
  const ago = Math.max(0, Math.round((seen - sending.checkedAt) / 1_000))
  return (
    <Dialog title="Private" close={close}>
      <p class="small">
        <bdi>{wallet}</bdi> sends what you sign here to the private relay, never to the public mempool. Checked {ago} s ago, and before each signature.
      </p>
      <p class="small soft spaced">To undo it, choose your earlier RPC URL in the wallet’s network settings.</p>
      {sending.url !== undefined && !isShown && (
        <button class="btn quiet" type="button" onClick={() => setShown(true)}>
          Show this RPC URL
        </button>
      )}
      {isShown && <code class="url">{sending.url}</code>}
    </Dialog>
  )
}

const EFFECTS = [
  ['lock', 'What it does', 'Your wallet gets an RPC URL of its own for Ethereum. What you sign here then goes to the private relay.'],
  ['info', 'What else it affects', 'Every site that uses this wallet on Ethereum. They can read as before, but this URL sends only what this page offered.'],
  ['flip', 'How to undo it', 'In your wallet’s network settings choose your earlier RPC URL. If you stay away, this one ends by itself, and your wallet needs another.'],
] as const

function SetUp({ sending, wallet, close }: PrivateProps) {
  const { privacy, url, isUrlShown, isAsking, problem } = sending
  const words = privacy === 'checking' || privacy === 'elsewhere' || privacy === 'private' ? '' : NOT_PRIVATE[privacy]
  return (
    <Dialog title="Set up private sending" close={close}>
      <Path />
      {words && <p class="small bad spaced">{words}</p>}
      <ul class="points close">
        {EFFECTS.map(([icon, title, text]) => (
          <li key={title}>
            <span class="ico"><Icon name={icon} /></span>
            <h3>{title}</h3>
            <p>{text}</p>
          </li>
        ))}
      </ul>
      <button class={isAsking ? 'go off' : 'go'} type="button" aria-disabled={isAsking} aria-busy={isAsking} onClick={sending.setUp}>
        {isAsking ? `Waiting for ${wallet}…` : 'Add it in my wallet'}
      </button>
      <Problem text={problem} />
      {url !== undefined && !isUrlShown && !problem && (
        <button class="btn quiet whole-width" type="button" onClick={sending.showUrl}>
          It was added, but nothing changed
        </button>
      )}
      {url !== undefined && isUrlShown && <ByHand url={url} />}
    </Dialog>
  )
}

const ByHand = ({ url }: { url: string }) => (
  <Message tone="warn" title="Your wallet still uses another RPC URL">
    <p>Set this one by hand in its network settings for Ethereum. It is yours alone:</p>
    <code class="url">{url}</code>
    <div class="row">
      <Copy text={url} />
    </div>
  </Message>
)

const Path = () => (
  <div class="path">
    <span><b class="ico"><Icon name="wallet" /></b>Wallet</span>
    <i />
    <span><b class="ico"><Icon name="lock" /></b>Relay</span>
    <i />
    <span><b class="ico"><Icon name="block" /></b>Block</span>
    <span class="no"><Icon name="unseen" />Never through the public mempool</span>
  </div>
)

const VERSION_CHARS = 24

interface FooterProps {
  version: string | undefined
}

export const Footer = ({ version }: FooterProps) => (
  <footer class="foot">
    <div>
      <span>quietswap{version && ` ${readable(version, VERSION_CHARS)}`}, open source and self-hosted</span>
      <span>Nothing here comes from anyone else.</span>
      <a href="/web/help" target="_blank">
        Help
      </a>
      <Colours />
    </div>
  </footer>
)
