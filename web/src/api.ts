// Requests of the page to its own service. The session is an HttpOnly cookie; no key is in the page.

import type { components } from '../../clients/typescript/src/generated/openapi'
import { readable, SENTENCE } from './text'

export type Schemas = components['schemas']

/** An error envelope, or a service that cannot be reached (`code` UNREACHABLE). */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details: unknown = null,
    readonly status = 0,
  ) {
    super(readable(message, SENTENCE))
  }
}

const SESSION = '/web/session'

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

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  try {
    return await once<T>(method, path, body)
  } catch (error) {
    if (!isUnauthorized(error) || path === SESSION || isRefused) throw error
  }
  await session()
  try {
    return await once<T>(method, path, body)
  } catch (error) {
    isRefused = isUnauthorized(error)
    throw error
  }
}

async function once<T>(method: string, path: string, body?: unknown): Promise<T> {
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
  let envelope: Envelope<T>
  try {
    envelope = (await response.json()) as Envelope<T>
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
  address?: string
}

/** How long transactions without a tip took to a block, as the service counted it. */
export interface Inclusion {
  orders: number
  days: number
  halfS: number
  mostS: number
}

/** Whether the service can work now. */
export interface Status {
  node: boolean
  relay: boolean
  sources: boolean
  inclusion: Inclusion | null
}

export const status = (): Promise<Status> => get<Status>('/web/status')

/** Begins or continues the session; wallets name accounts in lower case, the answer has EIP-55. */
export const session = (address?: string): Promise<Session> =>
  post<Session>(SESSION, address === undefined ? {} : { address })
