// Texts of others, made short and plain. They are shown as text, never as HTML.

/** A text on one line, at most `most` characters, without characters that steer its direction. */
export function readable(text: unknown, most: number): string {
  const plain = [...String(text ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim()]
  return plain.length > most ? `${plain.slice(0, most - 1).join('')}…` : plain.join('') || '?'
}

/** A text as a sentence of its own. */
export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`

/** Most characters of a reason or a message. */
export const SENTENCE = 300
