// Builds the assets of the web page into src/quietswap/service/web/assets, or into the folder given.
// The same sources give the same bytes: tests/web/test_assets.py builds again and compares.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const target = process.argv[2] ?? join(here, '../src/quietswap/service/web/assets')
const DOCUMENTS = ['index.html', 'help.html', 'lost.html']
const HASHED = /\/assets\/([a-z-]+\.(?:js|css|svg))/g

const bundled = await build({
  entryPoints: { app: join(here, 'src/app.tsx'), style: join(here, 'src/app.css') },
  entryNames: '[name]',
  outdir: here,
  write: false,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
})
const files = Object.fromEntries(
  bundled.outputFiles.map(({ path, contents }) => [
    path.endsWith('style.css') ? 'app.css' : 'app.js',
    Buffer.from(contents),
  ]),
)
files['icon.svg'] = readFileSync(join(here, 'src/icon.svg'))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
const hashedName = {}
for (const [name, bytes] of Object.entries(files)) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  const dot = name.lastIndexOf('.')
  hashedName[name] = `${name.slice(0, dot)}-${hash}${name.slice(dot)}`
  writeFileSync(join(target, hashedName[name]), bytes)
}
let total = 0
for (const [name, bytes] of Object.entries(files)) {
  if (name.endsWith('.svg')) continue
  const small = compressed(bytes)
  writeFileSync(join(target, `${hashedName[name]}.br`), small)
  total += small.length
  console.log(`${name}: ${bytes.length} bytes, ${small.length} with brotli`)
}
console.log(`together: ${(total / 1024).toFixed(1)} KiB with brotli`)
for (const document of DOCUMENTS) {
  const html = readFileSync(join(here, 'src', document), 'utf8')
  const named = html.replace(HASHED, (_, name) => `/assets/${hashedName[name]}`)
  writeFileSync(join(target, document), named)
}

function compressed(bytes) {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
}
