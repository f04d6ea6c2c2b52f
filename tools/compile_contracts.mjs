// Compiles the sandbox's own contracts (src/quietswap/sandbox/contracts/*.sol) into artifacts.json
// beside them, or to the path given. `node tools/compile_contracts.mjs [output]`, after `npm ci`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, 'src/quietswap/sandbox/contracts')
const solc = createRequire(join(root, 'package.json'))('solc')

const sources = Object.fromEntries(
  readdirSync(folder)
    .filter((name) => name.endsWith('.sol'))
    .sort()
    .map((name) => [name, { content: readFileSync(join(folder, name), 'utf8') }]),
)
const input = {
  language: 'Solidity',
  sources,
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    // no hash of the sources in the code: a changed comment must not change the bytes
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
  },
}
const output = JSON.parse(solc.compile(JSON.stringify(input)))
// 2394 warns of transient storage as such; AllowanceHolder's is meant to last as long as it does
const problems = (output.errors ?? []).filter(({ errorCode }) => errorCode !== '2394')
for (const { formattedMessage } of problems) console.error(formattedMessage)
if (problems.length) process.exit(1)

const artifacts = {}
for (const contracts of Object.values(output.contracts)) {
  for (const [name, { abi, evm }] of Object.entries(contracts)) {
    // no contract here has a constructor: the runtime code is set at its address as it is
    const runtime = `0x${evm.deployedBytecode.object}`
    if (runtime !== '0x' && abi.some(({ type }) => type === 'function' || type === 'fallback')) artifacts[name] = { abi, runtime }
  }
}
const sorted = Object.fromEntries(Object.entries(artifacts).sort(([a], [b]) => (a < b ? -1 : 1)))
const lines = Object.entries(sorted).map(([name, one]) => `${JSON.stringify(name)}: ${JSON.stringify(one)}`)
const text = `{\n"compiler": ${JSON.stringify(solc.version())},\n"contracts": {\n${lines.join(',\n')}\n}\n}\n`
writeFileSync(process.argv[2] ?? join(folder, 'artifacts.json'), text)
