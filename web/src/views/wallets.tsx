// The wallet chooser: one button for each wallet that announces itself.

import type { Wallets } from '../connection'
import type { Wallet } from '../wallet'
import { Copy, Dialog, Message } from './parts'
import { Ring } from './icons'

interface Props {
  wallets: Wallets
  close(): void
}

export function WalletChooser({ wallets, close }: Props) {
  const { all, asked, problem } = wallets
  return (
    <Dialog title="Connect a wallet" close={close} first=".it">
      <div class="list">
        {all.map((wallet) => (
          <WalletRow key={wallet.id} wallet={wallet} asked={asked?.wallet.id === wallet.id ? asked : undefined} connect={wallets.connect} />
        ))}
      </div>
      {!all.length && <p class="spaced">No wallet in this browser. Install one, or open this page in the browser of your wallet’s app.</p>}
      {problem && <Message tone="bad" icon="danger" role="alert" title={problem} />}
      <Message title="On a phone, or no wallet here?" icon="info">
        <p class="soft">Open this page in the browser inside your wallet’s app.</p>
        <div class="row">
          <Copy text={location.href} label="Copy link" />
        </div>
      </Message>
      <p class="tiny soft spaced">Connecting shows this page your address and balances. It cannot move anything.</p>
    </Dialog>
  )
}

interface RowProps {
  wallet: Wallet
  asked: Wallets['asked']
  connect(wallet: Wallet): void
}

const WalletRow = ({ wallet, asked, connect }: RowProps) => (
  <button class={asked ? 'it on' : 'it'} type="button" onClick={() => connect(wallet)}>
    {wallet.icon ? (
      <img class="wi" src={wallet.icon} alt="" />
    ) : (
      <span class="wi letter" aria-hidden="true">
        {[...wallet.name][0]}
      </span>
    )}
    <b>
      <bdi>{wallet.name}</bdi>
    </b>
    <span class="r">{asked && <Ring />}</span>
    <small role="status">
      {asked?.isSilent ? `Open ${wallet.name} and unlock it: a request waits there.` : 'In this browser'}
    </small>
  </button>
)

