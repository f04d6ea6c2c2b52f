/** Errors of requests. The errors of the flows are in `flow-errors.ts`. */
import { MOST_RETRY_S, TRANSIENT } from "./generated/rules.js";
import type { ErrorBody, ErrorCode } from "./types.js";

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Base of all errors of this client. `isTransient`: the same request may succeed later. `members` are
 * those that a subclass declares.
 */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly isTransient: boolean = false;

  constructor(message: string, members?: object) {
    super(message);
    Object.assign(this, members);
  }
}

/** No answer arrived. A POST may still have taken effect. */
export class ServiceUnreachable extends ClientError {
  override readonly name: string = "ServiceUnreachable";
  override readonly isTransient = true;
}

/** The caller's own Ethereum node did not answer. */
export class NodeUnreachable extends ServiceUnreachable {
  override readonly name = "NodeUnreachable";
  /** It refuses for a while, by a rate limit. */
  declare readonly isBusy: boolean;

  constructor(message: string, isBusy = false) {
    super(message, { isBusy });
  }
}

/** The answer does not follow this interface, for example a proxy's HTML page. */
export class UnexpectedResponse extends ClientError {
  override readonly name = "UnexpectedResponse";
}

/** The Ethereum node answered with an error; `code` is the JSON-RPC error code. */
export class NodeRpcError extends ClientError {
  override readonly name = "NodeRpcError";
  declare readonly method: string;
  declare readonly code: number;

  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`, { method, code });
  }
}

/** The caller's own node is not on mainnet; `chainId` is its chain. */
export class WrongChain extends ClientError {
  override readonly name = "WrongChain";
  declare readonly chainId: number;

  constructor(chainId: number) {
    super(`your RPC URL leads to a node of chain ${chainId}, not of mainnet (1)`, { chainId });
  }
}

/** The `details` of an error code. */
export type ErrorDetails<Code extends ErrorCode> = NonNullable<
  Extract<ErrorBody, { error: Code }> extends { details?: infer Details } ? Details : undefined
>;

/**
 * The service answered with an error code. `status` is the HTTP status, `retryAfter` the wait in s
 * that the service asks for, at most 300.
 */
export class ApiError extends ClientError {
  override readonly name = "ApiError";
  declare readonly isTransient: boolean;
  declare readonly code: string;
  declare readonly status: number;
  declare readonly details: unknown;
  declare readonly suggestion: string | undefined;
  declare readonly retryAfter: number | undefined;

  constructor(body: Record<string, unknown>, status: number) {
    const { error, message, details, suggestion, retryAfter } = body;
    const code = String(error);
    const hasNoStore =
      code === "PROVIDER_UNAVAILABLE" && isObject(details) && details["reason"] === "STORE_UNAVAILABLE";
    super(typeof message === "string" && message ? `${code}: ${message}` : code, {
      code,
      status,
      details,
      suggestion: typeof suggestion === "string" ? suggestion : undefined,
      retryAfter: typeof retryAfter === "number" ? Math.min(Math.max(retryAfter, 0), MOST_RETRY_S) : undefined,
      isTransient: hasNoStore || (TRANSIENT as readonly string[]).includes(code),
    });
  }

  /** The details, if the error has this code and the answer has details. */
  detailsOf<Code extends ErrorCode>(code: Code): ErrorDetails<Code> | undefined {
    return this.code === code && isObject(this.details) ? (this.details as ErrorDetails<Code>) : undefined;
  }
}
