/** JSON of the service and the node, refused where another reader could read something else. */
import { UnexpectedResponse, isObject } from "./errors.js";
import { EXACT_DIGITS, MAX_LEVELS, MOST_NUMBER_CHARS } from "./generated/rules.js";

export { isObject };

export type Json = Record<string, unknown>;

const NUMBER = /-?[\d.eE+-]+/y;
const PARTS = /^-?(\d+)\.?(\d*)(?:[eE]([+-]?\d+))?$/;
const COLON = /[ \t\r\n]*:/y;
const SURROGATE = /[\ud800-\udfff]/u;

/** Where `parsed` has a list. */
export const LIST = "list";

/** The object that a text is, or one that holds the list that it is; empty for any other text. */
export function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (!isPlain(text)) return {};
    return isObject(value) ? value : Array.isArray(value) ? { [LIST]: value } : {};
  } catch {
    return {};
  }
}

/** The text of bytes; empty if they are no UTF-8. */
export function decoded(bytes: BufferSource): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}

/**
 * Whether valid JSON nests little, names no member twice, and has only numbers and letters that are
 * sent back unchanged (https://www.rfc-editor.org/rfc/rfc7493).
 */
function isPlain(text: string): boolean {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') {
      const end = endOf(text, at);
      if (!isName(text, at, end, open.at(-1))) return false;
      at = end;
    } else if (char === "[" || char === "{") {
      if (open.push(new Set()) > MAX_LEVELS) return false;
    } else if (char === "]" || char === "}") {
      open.pop();
    } else if (char === "-" || (char >= "0" && char <= "9")) {
      NUMBER.lastIndex = at;
      const [number = ""] = NUMBER.exec(text) ?? [];
      if (!isExact(number)) return false;
      at += number.length - 1;
    }
  }
  return true;
}

/** The place of the quotation mark that ends a string. */
function endOf(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text[before - 1] === "\\") before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
}

/** Whether a string has whole letters and, if a colon follows, is a new name in its object. */
function isName(text: string, start: number, end: number, names: Set<string> | undefined): boolean {
  COLON.lastIndex = end + 1;
  const isMember = COLON.test(text);
  const raw = text.slice(start, end + 1);
  if (!isMember && !raw.includes("\\u")) return true;
  const value = JSON.parse(raw) as string;
  if (SURROGATE.test(value) || (isMember && names?.has(value))) return false;
  if (isMember) names?.add(value);
  return true;
}

/** Whether the shortest form of the number's double is the same number. */
function isExact(number: string): boolean {
  if (number.length <= EXACT_DIGITS && /^-?\d+$/.test(number)) return true;
  return number.length <= MOST_NUMBER_CHARS && digits(number) === digits(String(Number(number)));
}

/** Significant digits and the exponent of the last one; undefined for what is no number. */
function digits(number: string): string | undefined {
  const [, whole, fraction = "", exponent = "0"] = PARTS.exec(number) ?? [];
  if (whole === undefined) return undefined;
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const kept = all.replace(/0+$/, "");
  return kept && `${kept}e${Number(exponent) - fraction.length + all.length - kept.length}`;
}

/** Throws UnexpectedResponse. */
export function unreadable(name: string, wanted: string): never {
  throw new UnexpectedResponse(`unreadable answer (${name}: expected ${wanted})`);
}
