/** Checks of what the caller passes. All throw RangeError with the name of the argument. */
import { MOST_WAIT_S } from "./generated/rules.js";

/** All members of a type; the compiler sees that none is left out. */
export type Members<T> = Readonly<Record<keyof T, true>>;

/** Refuse an argument. */
export function requireThat(isRight: boolean, name: string, wanted: string, given: unknown): void {
  if (!isRight) throw new RangeError(`${name} must be ${wanted}, not ${String(given)}`);
}

/**
 * Refuse a pause in s that is not above 0, or is more than a day. One of 25 days would overflow a timer,
 * which then does not wait.
 */
export const requirePause = (name: string, seconds = 1) =>
  requireThat(seconds > 0 && seconds <= MOST_WAIT_S, name, `above 0, at most ${MOST_WAIT_S}`, seconds);

/** Refuse a bound that is no percentage. */
export const requirePercent = (name: string, percent = 0) =>
  requireThat(percent >= 0 && percent <= 100, name, "0 to 100", percent);

/** Refuse a nonce that is none. */
export const requireNonce = (nonce = 0) =>
  requireThat(Number.isSafeInteger(nonce) && nonce >= 0, "nonce", "0 or more", nonce);

/** Refuse a member that is not known: a misspelt limit would limit nothing. */
export function requireKnown<T>(given: object, members: Members<T>): void {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(members, name))
      throw new RangeError(`${name} is not known here; known are ${Object.keys(members).join(", ")}`);
}
