// Prints {name: runtime code} of the test contracts: `node compile.mjs`.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const solc = createRequire(join(here, '../../package.json'))('solc')
const input = {
  language: 'Solidity',
  sources: { 'Odd.sol': { content: readFileSync(join(here, 'contracts/Odd.sol'), 'utf8') } },
  settings: {
    evmVersion: 'cancun',
    outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
  },
}
const output = JSON.parse(solc.compile(JSON.stringify(input)))
for (const { severity, formattedMessage } of output.errors ?? []) {
  if (severity === 'error') throw new Error(formattedMessage)
}
const codes = Object.entries(output.contracts['Odd.sol'])
const runtime = codes.map(([name, { evm }]) => [name, `0x${evm.deployedBytecode.object}`])
console.log(JSON.stringify(Object.fromEntries(runtime)))
