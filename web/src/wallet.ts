// Injected wallets: discovery by EIP-6963, requests by EIP-1193.

import { readable, SENTENCE } from './text'

export interface Provider {
  request(args: { method: string; params?: unknown }): Promise<unknown>
  on?(event: string, listener: (value: never) => void): void
  removeListener?(event: string, listener: (value: never) => void): void
}

export interface Wallet {
  id: string
  /** Names the wallet over visits (EIP-6963); '' if it does not say. */
  rdns: string
  name: string
  /** A `data:image/` URL of at most 64 KB, else ''. */
  icon: string
  provider: Provider
}

interface Announcement {
  info: { uuid: string; name: string; rdns?: unknown; icon?: unknown }
  provider: Provider
}

const NAME_CHARS = 40

const ICON_CHARS = 65_536

/** A picture that comes with its bytes, and is shown as a picture alone. */
const isIcon = (icon: unknown): icon is string =>
  typeof icon === 'string' && icon.length <= ICON_CHARS && /^data:image\/(?:png|webp|jpeg|gif|svg\+xml)[;,]./.test(icon)

/** Calls `found` for each wallet that announces itself, now and later. Returns the stop. */
export function discover(found: (wallet: Wallet) => void): () => void {
  const listen = (event: Event): void => {
    const detail = (event as CustomEvent<Announcement>).detail
    if (typeof detail?.provider?.request !== 'function') return
    const { uuid, name, rdns, icon } = detail.info ?? {}
    found({
      id: String(uuid).slice(0, 64),
      rdns: typeof rdns === 'string' ? rdns.slice(0, 100) : '',
      name: readable(name ?? 'Wallet', NAME_CHARS),
      icon: isIcon(icon) ? icon : '',
      provider: detail.provider,
    })
  }
  window.addEventListener('eip6963:announceProvider', listen)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  return () => window.removeEventListener('eip6963:announceProvider', listen)
}

/** Why a wallet did not do something. */
export class WalletError extends Error {
  constructor(
    message: string,
    readonly code: number | undefined,
    readonly data: unknown = null,
  ) {
    super(message)
  }

  get isRejection(): boolean {
    return this.code === REJECTED
  }

  /** Whether an earlier request waits in the wallet. */
  get isPending(): boolean {
    return this.code === PENDING
  }
}

const REJECTED = 4001
const PENDING = -32002

/** One request to the wallet. Raises WalletError. */
export async function ask<T>(provider: Provider, method: string, params?: unknown): Promise<T> {
  try {
    return (await provider.request(params === undefined ? { method } : { method, params })) as T
  } catch (error) {
    const { code, message, data } = (error ?? {}) as {
      code?: number
      message?: unknown
      data?: unknown
    }
    throw new WalletError(readable(message ?? error, SENTENCE), code, data)
  }
}

const PATIENCE_MS = 10_000

/** A request that no person answers: one that gets no answer in time has failed. Raises WalletError. */
export const askSoon = <T>(...asked: Parameters<typeof ask>): Promise<T> =>
  Promise.race([
    ask<T>(...asked),
    new Promise<never>((_, fail) => {
      setTimeout(() => fail(new WalletError('Your wallet does not answer.', undefined)), PATIENCE_MS)
    }),
  ])

/** The first account, in lower case as wallets write it; undefined if none was allowed. */
export async function account(provider: Provider, mayAsk: boolean): Promise<string | undefined> {
  const method = mayAsk ? 'eth_requestAccounts' : 'eth_accounts'
  return firstOf(await (mayAsk ? ask : askSoon)<unknown>(provider, method))
}

export function firstOf(accounts: unknown): string | undefined {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof first === 'string' && /^0x[0-9a-fA-F]{40}$/.test(first) ? first.toLowerCase() : undefined
}

export const hex = (value: string | number | bigint): string => `0x${BigInt(value).toString(16)}`

/** A transaction as the service issued it: decimal texts. */
export interface Issued {
  to: string
  data: string
  value: string
  gasLimit?: string
  maxFeePerGas?: string
  maxPriorityFeePerGas?: string
  nonce?: number
}

/** Asks the wallet to sign and send; returns the hash it names. Raises WalletError. */
export async function send(provider: Provider, from: string, tx: Issued): Promise<string> {
  const fields: Record<string, string> = { from, to: tx.to, data: tx.data, value: hex(tx.value) }
  if (tx.gasLimit !== undefined) fields.gas = hex(tx.gasLimit)
  if (tx.maxFeePerGas !== undefined) fields.maxFeePerGas = hex(tx.maxFeePerGas)
  if (tx.maxPriorityFeePerGas !== undefined) {
    fields.maxPriorityFeePerGas = hex(tx.maxPriorityFeePerGas)
  }
  if (tx.nonce !== undefined) fields.nonce = hex(tx.nonce)
  const hash = await ask<unknown>(provider, 'eth_sendTransaction', [fields])
  if (typeof hash !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(hash)) {
    throw new WalletError('The wallet named no transaction hash.', undefined)
  }
  return hash.toLowerCase()
}
