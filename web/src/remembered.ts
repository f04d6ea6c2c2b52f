// What the browser remembers between visits. Nothing here is trusted: a reader checks what it gets.

const PREFIX = 'quietswap.'

/** The text stored under a name; '' without one, or where the browser stores nothing. */
export function remembered(name: string): string {
  try {
    return localStorage.getItem(PREFIX + name) ?? ''
  } catch {
    return ''
  }
}

/** Stores a text; '' removes it. */
export function remember(name: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, text)
  } catch {
    // the browser stores nothing: the next visit begins anew
  }
}
