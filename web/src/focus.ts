// Keeps the focus where a person was: a browser drops it when a control is removed or switched off.

const PLACES = 'section, article, header, main'

/** Watches `root` from now on; the focus goes back to its control, or to the part that held it. */
export function keepFocus(root: HTMLElement): void {
  let control: HTMLElement | undefined
  let place: HTMLElement | undefined
  const canHold = (one: HTMLElement): boolean => one.isConnected && !one.matches(':disabled')

  root.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement) || target === place) return
    control = target
    // a dialog goes with what is in it
    place = target.closest<HTMLElement>(PLACES) ?? root.querySelector('main') ?? undefined
  })
  root.addEventListener('focusout', ({ relatedTarget }) => {
    const left = control
    if (relatedTarget !== null || !document.hasFocus()) return
    queueMicrotask(() => {
      // by a person, and not because the control is being removed
      if (left && left === control && canHold(left)) control = place = undefined
    })
  })
  new MutationObserver(() => {
    const { activeElement } = document
    const isLost = activeElement === document.body || activeElement === null
    if (!control || !place || (!isLost && activeElement !== place)) return
    const next = canHold(control) ? control : place.isConnected ? place : root.querySelector('main')
    if (!(next instanceof HTMLElement) || next === activeElement) return
    if (next !== control) next.tabIndex = -1
    next.focus({ preventScroll: true })
  }).observe(root, { subtree: true, childList: true, attributeFilter: ['disabled', 'hidden'] })
}
