// Requests of the page to its own service. The session is an HttpOnly cookie; no key is in the page.

import { blocks } from '../../clients/typescript/src/stream'
import type { components } from '../../clients/typescript/src/generated/openapi'
import { readable, SENTENCE, sentence } from './text'

export type Schemas = components['schemas']

export type Route = Schemas['StreamedRoute']

/** An error envelope, or a service that cannot be reached (`code` UNREACHABLE). */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details: unknown = null,
    readonly status = 0,
  ) {
    super(sentence(readable(message, SENTENCE)))
  }
}

const SESSION = '/web/session'
/** A second that its header cuts off, and one for the way. */
const CLOCKS_AGREE_MS = 2_000
/** What the service's clock showed, and a counter that nobody sets. */
let clock = { told: Date.now(), at: performance.now() }

/** Unix ms by the clock of the service: the one of this device may be set at any time. */
export const now = (): number => clock.told + performance.now() - clock.at

interface Envelope<T> {
  ok: boolean
  data?: T
  error?: string
  message?: string
  details?: unknown
}

/** A session that was just begun was refused: another one would be, too. */
let isRefused = false

const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401

type Read = (response: Response) => Promise<unknown>

async function request<T>(method: string, path: string, body?: unknown, read?: Read): Promise<T> {
  try {
    return await once<T>(method, path, body, read)
  } catch (error) {
    if (!isUnauthorized(error) || path === SESSION || isRefused) throw error
  }
  await session()
  try {
    return await once<T>(method, path, body, read)
  } catch (error) {
    isRefused = isUnauthorized(error)
    throw error
  }
}

async function once<T>(method: string, path: string, body?: unknown, read?: Read): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
    })
  } catch {
    throw new ApiError('UNREACHABLE', 'The service does not answer. The page tries again.')
  }
  const told = Date.parse(response.headers.get('date') ?? '')
  if (Math.abs(told - now()) > CLOCKS_AGREE_MS) clock = { told, at: performance.now() }
  let envelope: Envelope<T>
  try {
    envelope = (await (read && response.ok ? read(response) : response.json())) as Envelope<T>
  } catch {
    throw new ApiError('UNREACHABLE', `The service gave no readable answer (${response.status}).`)
  }
  if (!response.ok || !envelope.ok || envelope.data === undefined) {
    const { error = 'UNKNOWN', message = 'The service refused the request.' } = envelope
    throw new ApiError(error, message, envelope.details, response.status)
  }
  return envelope.data
}

export const get = <T>(path: string, query: Record<string, string> = {}): Promise<T> => {
  const text = new URLSearchParams(query).toString()
  return request<T>('GET', text ? `${path}?${text}` : path)
}

/** Reads a stream of events: hands the data of each `route` on, and returns that of `answer`. */
async function answerOf(response: Response, verified: (route: Route) => void): Promise<unknown> {
  for await (const { event, data = '' } of blocks(response)) {
    if (event === 'answer') return JSON.parse(data)
    if (event === 'route') verified(JSON.parse(data) as Route)
  }
  throw new Error('it ended early')
}

/** A quote, and before it each verified route, which nobody can sign. */
export const streamQuote = (
  query: Record<string, string>,
  verified: (route: Route) => void,
): Promise<Schemas['SwapQuoteResponse']> => {
  const path = `/api/v1/quote/stream?${new URLSearchParams(query).toString()}`
  return request('GET', path, undefined, (response) => answerOf(response, verified))
}

export const remove = <T>(path: string): Promise<T> => request<T>('DELETE', path)

export const post = <T>(path: string, body: unknown = {}): Promise<T> =>
  request<T>('POST', path, body)

/** What the page needs to know of the service, and the wallet's address with its checksum. */
export interface Session {
  chainId: number
  explorerUrl: string
  connected: { to: string; data: string }
  expiresAt: string
  quoteSeconds: number
  /** The service takes the transaction of a quote for so long, and refuses it afterwards. */
  takenSeconds: number
  /** Of the service. */
  version?: string
  address?: string
}

/** How long transactions without a tip took to a block, as the service counted it. */
export interface Inclusion {
  orders: number
  days: number
  halfBlocks: number
  mostBlocks: number
  halfS: number
  mostS: number
}

/** Whether the service can work now. */
export interface Status {
  node: boolean
  relay: boolean
  sources: boolean
  /** Those that are asked for a quote. */
  sourceNames?: string[]
  inclusion: Inclusion | null
}

export const status = (): Promise<Status> => get<Status>('/web/status')

/** Begins or continues the session; wallets name accounts in lower case, the answer has EIP-55. */
export const session = (address?: string): Promise<Session> =>
  post<Session>(SESSION, address === undefined ? {} : { address })
