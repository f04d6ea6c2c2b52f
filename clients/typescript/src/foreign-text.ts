/** What a node says, made harmless for a program that shows it. */

const SHORTEST_SECRET = 6;
/** A URL, or HOST:PORT: one behind a proxy that is nobody's business, and often with a key. */
const ADDRESS = new RegExp(
  "[A-Za-z][A-Za-z0-9+.-]*://\\S+" +
    "|(?<![\\w.-])(?:(?:[\\w-]+\\.)+[\\w-]+|localhost|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}(?![\\w.])",
  "g",
);
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;

/** The parts of a URL that may be a key: user, password, path and values, and itself. */
export function secretsOf(url: string): readonly string[] {
  const { username, password, pathname, searchParams } = new URL(url);
  const account = [username, password, ...pathname.split("/"), ...searchParams.values()];
  return [url, ...account, ...account.map(decoded)].filter((part) => part.length >= SHORTEST_SECRET);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** At most `limit` printable characters, without `secrets`, URLs and HOST:PORT. */
export function masked(said: unknown, secrets: readonly string[] = [], limit = 200): string {
  let text = typeof said === "string" ? said : "";
  for (const secret of secrets) text = text.replaceAll(secret, "***");
  text = text.slice(0, 4 * limit).replace(ADDRESS, "***").replace(UNPRINTABLE, " ");
  return [...text].slice(0, limit).join("");
}
