// Drives a real browser for tests/browser/browser.py: one JSON command per line on stdin, one JSON
// answer per line on stdout. Requests of injected wallets go to Python and wait for its answer.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium, firefox } from 'playwright-core'

const PATIENCE_MS = Number(process.env.PATIENCE_MS)
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const axeSource = readFileSync(here('node_modules/axe-core/axe.min.js'), 'utf8')
const injected = readFileSync(here('injected.js'), 'utf8')
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)

/** The packaged Chromium, which is unpacked once (three seconds) and stays beside its package. */
async function packagedChromium() {
  const { version } = JSON.parse(readFileSync(here('node_modules/@sparticuz/chromium/package.json'), 'utf8'))
  const kept = here(`node_modules/.chromium-${version}`)
  if (!existsSync(kept)) {
    const unpacked = await (await import('@sparticuz/chromium')).default.executablePath()
    const copy = `${kept}.${process.pid}`
    copyFileSync(unpacked, copy)
    renameSync(copy, kept) // whole, whichever process is first
  }
  return kept
}

/**
 * Chromium ends ("GPU process isn't usable. Goodbye.") when its GPU process failed too often. Without a library for
 * GL that happens two times at each start, and more often on a busy machine.
 */
const WITHOUT_A_GPU_PROCESS = ['--in-process-gpu', '--disable-gpu', '--disable-software-rasterizer']

/** No page of a test lives for long enough to earn back what V8 spends on optimized code: a tenth of a visit. */
const UNOPTIMIZED = '--js-flags=--no-opt --no-maglev'

/**
 * Starts the installed Firefox that FIREFOX names, or the packaged Chromium, or an installed Chrome where that
 * cannot run.
 */
async function start() {
  const reasons = []
  if (process.env.FIREFOX) {
    return await firefox.launch({
      channel: 'moz-firefox', // by WebDriver BiDi, which an unchanged Firefox has
      executablePath: process.env.FIREFOX,
      firefoxUserPrefs: { 'ui.prefersReducedMotion': 1 },
    })
  }
  if (process.platform === 'linux' && process.arch === 'x64') {
    try {
      // not the package's `args`: they switch web security off
      return await chromium.launch({
        executablePath: await packagedChromium(),
        args: ['--no-sandbox', '--enable-logging=stderr', '--log-level=2', UNOPTIMIZED, ...WITHOUT_A_GPU_PROCESS],
      })
    } catch (error) {
      reasons.push(`the packaged Chromium: ${error.message.split('\n')[0]}`)
    }
  }
  try {
    return await chromium.launch({ channel: 'chrome' })
  } catch (error) {
    reasons.push(`an installed Chrome: ${error.message.split('\n')[0]}`)
  }
  throw new Error(reasons.join('; '))
}

process.on('unhandledRejection', (error) => console.error('driver:', error))

const pages = new Map() // by name: { page, context, reports, hostile }
const waiting = new Map() // wallet requests by number: resolve
let asked = 0

/** Runs before the scripts of a page: what its first document finds in the store of its origin. */
function remember(memory) {
  if (!location.protocol.startsWith('http') || sessionStorage.opened) return
  sessionStorage.opened = 'yes'
  Object.assign(localStorage, memory)
}

async function open({ name, wallets = [], width = 1280, height = 900, scheme = 'light', like, cookies, memory }) {
  const shared = like && pages.get(like)
  const context =
    shared?.context ??
    (await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      reducedMotion: 'reduce',
    }))
  context.setDefaultTimeout(PATIENCE_MS)
  if (cookies) await context.addCookies(cookies)
  const page = await context.newPage()
  const entry = { page, context, reports: [] }
  pages.set(name, entry)
  await page.exposeBinding('__wallet', (_source, wallet, method, params) =>
    new Promise((resolve) => {
      const request = ++asked
      waiting.set(request, resolve)
      say({ event: 'wallet', request, page: name, wallet, method, params })
    }),
  )
  await page.exposeBinding('__report', (_source, text) => void entry.reports.push(text))
  await page.addInitScript(`(${injected.trim()})(${JSON.stringify(wallets)})`)
  if (memory) await page.addInitScript(remember, memory)
  page.on('pageerror', (error) => entry.reports.push(`error: ${error.message}`))
  page.on('dialog', async (dialog) => {
    entry.reports.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (/^(https?|wss?):$/.test(protocol)) entry.hosts = (entry.hosts ?? new Set()).add(host)
  })
}

/**
 * A locator from Python: ['role', role, name], ['label', text], ['css', selector], ['text', text]. The
 * name is exact, or a regular expression that begins with ^.
 */
function find(page, [kind, first, second]) {
  switch (kind) {
    case 'role':
      return second === undefined || second === null
        ? page.getByRole(first)
        : page.getByRole(first, second.startsWith('^') ? { name: new RegExp(second) } : { name: second, exact: true })
    case 'label':
      return page.getByLabel(first, { exact: true })
    case 'text':
      return page.getByText(first)
    default:
      return page.locator(first)
  }
}

/** Replaces texts, or numbers, in the answers of the service by a hostile one; see `Page.mangle` in browser.py. */
async function mangle({ page }, { text, keep, only }) {
  const kept = new RegExp(keep)
  const swap = (value, key) => {
    if (Array.isArray(value)) return value.map((one) => swap(one, key))
    if (value && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, swap(v, k)]))
    }
    return typeof value === typeof text && !kept.test(key) && !kept.test(`=${value}`) ? text : value
  }
  await page.route(new RegExp(only), async (route) => {
    try {
      const answer = await route.fetch()
      const isStream = answer.headers()['content-type']?.startsWith('text/event-stream')
      const body = isStream
        ? (await answer.text()).replace(/^data: (.*)$/gm, (_, data) => `data: ${JSON.stringify(swap(JSON.parse(data), ''))}`)
        : JSON.stringify(swap(await answer.json(), ''))
      await route.fulfill({ response: answer, body })
    } catch (error) {
      // the page was closed or went elsewhere meanwhile, or its request ended
      await route.abort().catch(() => undefined)
    }
  })
}

const COMMANDS = {
  open,
  close: async ({ context, page }, { name }) => {
    pages.delete(name)
    await page.close()
    if (![...pages.values()].some((one) => one.context === context)) await context.close()
  },
  goto: async ({ page }, { url }) => {
    const answer = await page.goto(url)
    return { status: answer?.status() ?? 0, headers: answer?.headers() ?? {} }
  },
  reload: ({ page }) => page.reload().then(() => null),
  title: ({ page }) => page.title(),
  content: ({ page }) => page.locator('body').innerText(),
  click: ({ page }, { at }) => find(page, at).click(),
  fill: ({ page }, { at, text }) => find(page, at).fill(text),
  select: ({ page }, { at, text }) => find(page, at).selectOption(text),
  press: ({ page }, { key }) => page.keyboard.press(key),
  type: ({ page }, { text }) => page.keyboard.type(text),
  text: ({ page }, { at }) => find(page, at).innerText(),
  texts: ({ page }, { at }) => find(page, at).allInnerTexts(),
  count: ({ page }, { at }) => find(page, at).count(),
  value: ({ page }, { at }) => find(page, at).inputValue(),
  attribute: ({ page }, { at, which }) => find(page, at).getAttribute(which),
  enabled: ({ page }, { at }) => find(page, at).isEnabled(),
  wait: ({ page }, { at, state, has }) => {
    const found = find(page, at)
    return (has === null ? found : found.filter({ hasText: has })).first().waitFor({ state })
  },
  focused: ({ page }) =>
    page.evaluate(() => {
      const one = document.activeElement
      const label = one?.labels?.[0]?.textContent
      return { tag: one?.tagName, name: (label ?? one?.textContent ?? '').trim() }
    }),
  crash: async () => (await browser.newBrowserCDPSession()).send('Browser.crash'),
  evaluate: ({ page }, { expression }) => page.evaluate(expression),
  emit: ({ page }, { wallet, event, value }) =>
    page.evaluate(([w, e, v]) => window.__emit(w, e, v), [wallet, event, value]),
  small: async ({ page }, { path }) => {
    const session = await page.context().newCDPSession(page)
    const { cssContentSize, cssLayoutViewport: { clientWidth, clientHeight } } =
      await session.send('Page.getLayoutMetrics')
    const isOpen = await page.locator('dialog[open]').count()
    const size = isOpen ? { width: clientWidth, height: clientHeight } : cssContentSize
    const { data } = await session.send('Page.captureScreenshot', {
      format: 'webp',
      quality: 80,
      captureBeyondViewport: true,
      clip: { x: 0, y: 0, width: size.width, height: size.height, scale: 1 },
    })
    await session.detach()
    writeFileSync(path, Buffer.from(data, 'base64'))
  },
  screenshot: async ({ page }, { path, at }) => {
    const fullPage = !(await page.locator('dialog[open]').count()) // its ground has the size of the window
    if (at === null) await page.screenshot({ path, fullPage, animations: 'disabled' })
    else await find(page, at).screenshot({ path, animations: 'disabled' })
  },
  viewport: ({ page }, { width, height }) => page.setViewportSize({ width, height }),
  look: async ({ page }, { width, height, scheme, forced }) => {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme: scheme, forcedColors: forced ? 'active' : 'none' })
  },
  overflow: ({ page }) =>
    page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
  axe: async ({ page }, { within }) => {
    // as an injected script of the debugger: the page's policy stays on
    const session = await page.context().newCDPSession(page)
    const { result: own } = await session.send('Runtime.evaluate', { expression: 'typeof axe' })
    if (own.value === 'undefined') // once in a document: that is half of its cost
      await session.send('Runtime.evaluate', { expression: axeSource, allowUnsafeEvalBlockedByCSP: true })
    const { result } = await session.send('Runtime.evaluate', {
      expression:
        `axe.run(${within ? JSON.stringify(within) : 'document'}, {resultTypes: ["violations"]}).then(` +
        'r => JSON.stringify(r.violations.map(v => ' +
        '({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200))}))))',
      awaitPromise: true,
    })
    await session.detach()
    return JSON.parse(result.value)
  },
  frames: ({ page }) => page.frames().slice(1).map((frame) => frame.url()),
  reports: ({ reports }) => reports,
  hosts: ({ hosts }) => [...(hosts ?? [])],
  cookies: ({ context }) => context.cookies(),
  offline: ({ context }, { is }) => context.setOffline(is),
  mangle,
}

async function obey({ id, command, name, ...rest }) {
  try {
    const entry = pages.get(name)
    const result =
      command === 'open' ? await open({ name, ...rest }) : await COMMANDS[command](entry, { name, ...rest })
    say({ id, result: result ?? null })
  } catch (error) {
    if (!browser.isConnected()) return // what it said is the answer; see `_listen` in browser.py
    say({ id, error: String(error.message ?? error).slice(0, 2000) })
  }
}

let browser
try {
  if (!existsSync(process.env.TMPDIR)) throw new Error('no folder for temporary files')
  browser = await start()
  say({ event: 'ready', version: browser.version() })
} catch (error) {
  say({ event: 'unable', reason: error.message })
  process.exit(0)
}
const input = createInterface({ input: process.stdin })
browser.on('disconnected', () => input.close())
for await (const line of input) {
  const message = JSON.parse(line)
  if (message.answer === undefined) {
    void obey(message)
    continue
  }
  waiting.get(message.answer)?.({ result: message.result, error: message.error })
  waiting.delete(message.answer)
}
await browser.close()
