// Prints {name: runtime code} of the test contracts: `node compile.mjs`.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const solc = createRequire(join(here, '../../package.json'))('solc')
const files = readdirSync(join(here, 'contracts'))
const packages = join(here, '../../node_modules')
const read = (file) => ({ content: readFileSync(join(here, 'contracts', file), 'utf8') })
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(files.map((file) => [file, read(file)])),
  settings: {
    evmVersion: 'cancun',
    outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
  },
}
const fromPackage = (path) => ({ contents: readFileSync(join(packages, path), 'utf8') })
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: fromPackage }))
for (const { severity, formattedMessage } of output.errors ?? []) {
  if (severity === 'error') throw new Error(formattedMessage)
}
const codes = files.flatMap((file) => Object.entries(output.contracts[file]))
const runtime = codes.map(([name, { evm }]) => [name, `0x${evm.deployedBytecode.object}`])
console.log(JSON.stringify(Object.fromEntries(runtime)))
