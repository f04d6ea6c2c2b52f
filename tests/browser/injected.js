(wallets) => {
  // Runs in each page before its own scripts: announces wallets by EIP-6963 and reports what the
  // page must not do. A wallet's requests go to Python through the binding `__wallet`.
  const listeners = new Map()
  const heard = (id, event) => listeners.get(`${id} ${event}`) ?? new Set()
  window.__emit = (id, event, value) => {
    for (const listener of heard(id, event)) listener(value)
  }
  const announce = () => {
    for (const { id, name, icon } of wallets) {
      const provider = {
        async request({ method, params }) {
          const { result, error } = await window.__wallet(id, method, params ?? [])
          if (error) throw Object.assign(new Error(error.message), error)
          return result
        },
        on(event, listener) {
          const known = heard(id, event)
          listeners.set(`${id} ${event}`, known.add(listener))
        },
        removeListener(event, listener) {
          heard(id, event).delete(listener)
        },
      }
      const detail = Object.freeze({
        info: Object.freeze({ uuid: id, name, icon: icon ?? 'data:,', rdns: `test.${id}` }),
        provider: Object.freeze(provider),
      })
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
    }
  }
  window.addEventListener('eip6963:requestProvider', announce)
  announce()
  document.addEventListener('securitypolicyviolation', (event) => {
    void window.__report(`policy: ${event.violatedDirective} ${event.blockedURI}`)
  })
  window.__ran = () => void window.__report('a hostile script ran')
}
