/** Errors of requests. The errors of the flows are in `flow-errors.ts`. */
import { MOST_RETRY_S, TRANSIENT } from "./generated/rules.js";
import type { ErrorBody, ErrorCode } from "./types.js";

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Base of all errors of this client. `isTransient`: the same request may succeed later. */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly isTransient: boolean = false;
}

/** No answer arrived. A POST may still have taken effect. */
export class ServiceUnreachable extends ClientError {
  override readonly name: string = "ServiceUnreachable";
  override readonly isTransient = true;
}

/** The caller's own Ethereum node did not answer. */
export class NodeUnreachable extends ServiceUnreachable {
  override readonly name = "NodeUnreachable";
}

/** The answer does not follow this interface, for example a proxy's HTML page. */
export class UnexpectedResponse extends ClientError {
  override readonly name = "UnexpectedResponse";
}

/** The Ethereum node answered with an error; `code` is the JSON-RPC error code. */
export class NodeRpcError extends ClientError {
  override readonly name = "NodeRpcError";
  readonly method: string;
  readonly code: number;

  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`);
    this.method = method;
    this.code = code;
  }
}

/** The caller's own node is not on mainnet; `chainId` is its chain. */
export class WrongChain extends ClientError {
  override readonly name = "WrongChain";
  readonly chainId: number;

  constructor(chainId: number) {
    super(`your RPC URL leads to a node of chain ${chainId}, not of mainnet (1)`);
    this.chainId = chainId;
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
  override readonly isTransient: boolean;
  readonly code: string;
  readonly status: number;
  readonly details: unknown;
  readonly suggestion: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(body: Record<string, unknown>, status: number) {
    const { error, message, details, suggestion, retryAfter } = body;
    super(typeof message === "string" && message ? `${String(error)}: ${message}` : String(error));
    this.code = String(error);
    this.status = status;
    this.details = details;
    this.suggestion = typeof suggestion === "string" ? suggestion : undefined;
    this.retryAfter = typeof retryAfter === "number" ? Math.min(Math.max(retryAfter, 0), MOST_RETRY_S) : undefined;
    const { reason } = { ...(details as { reason?: unknown } | undefined) };
    this.isTransient =
      (this.code === "PROVIDER_UNAVAILABLE" && reason === "STORE_UNAVAILABLE") ||
      (TRANSIENT as readonly string[]).includes(this.code);
  }

  /** The details, if the error has this code and the answer has details. */
  detailsOf<Code extends ErrorCode>(code: Code): ErrorDetails<Code> | undefined {
    return this.code === code && isObject(this.details) ? (this.details as ErrorDetails<Code>) : undefined;
  }
}
