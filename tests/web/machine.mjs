// Runs steps of a trade without a browser: one JSON program per line on stdin, its results on a line of stdout.
// The sources are bundled once, in memory, with the page's own esbuild.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const [folder] = process.argv.slice(2)
const { buildSync } = createRequire(`${folder}/package.json`)('esbuild')
const contents = `
  export * from './src/trade/machine'
  export * from './src/trade/primary'
  export * from './src/trade/plan'
  export * from './src/amounts'
  export * from './src/figures'
  export * from './src/ends'
  export * from './src/fate'
  export { cancelFaults } from '../clients/typescript/src/params'
  export { cardsOf, rowsOf } from './src/cards'
  export * from './src/refusals'
  export { kindWord } from './src/words'
`
const { outputFiles } = buildSync({
  stdin: { contents, resolveDir: folder, loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
})
const page = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
const text = (value) =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}` : one === undefined ? null : one))

/** A trade of JSON, which has no bigint. */
const tradeOf = ({ conversionGasWei, ...trade }) => ({
  ...page.fresh('0.5'),
  ...trade,
  ...(conversionGasWei && { conversionGasWei: BigInt(conversionGasWei) }),
})

/** What is handed to the wallet, or why nothing is. */
function signed({ trade, step, wallet, settlers }) {
  try {
    return page.transactionOf(step, tradeOf(trade), wallet, settlers)
  } catch (error) {
    return { refused: error.message }
  }
}

/** What a wrap or unwrap hands to the wallet, or why nothing is. */
function converted({ quote, operation, units }) {
  try {
    return page.conversionTransaction(quote, operation, BigInt(units))
  } catch (error) {
    return { refused: error.message }
  }
}

/** The rows of orders: kind, and what was wrapped for it. */
const rows = (orders) =>
  page
    .rowsOf(page.cardsOf(new Map(orders.map((order) => [order.orderId, { order, finalized: false, takenBack: false }]))))
    .map(({ update: { order }, wrap }) => [order.orderId, wrap?.orderId])

function answered({ call, given }) {
  if (call === 'table') return page.TABLE
  if (call === 'play') return given.events.reduce(page.reduce, { ...page.fresh('0.5'), ...given.trade })
  if (call === 'primary') return page.primaryOf({ ...page.fresh('0.5'), ...given.trade }, given.world)
  if (call === 'state') return page.stateOf({ ...page.fresh('0.5'), ...given.trade }, given.world)
  if (call === 'steps') return page.stepsOf({ ...page.fresh('0.5'), ...given.trade }, given.canBatch)
  if (call === 'fees') return [page.mostFees(tradeOf(given), false), page.boundOf(tradeOf(given), false)]
  if (call === 'sign') return signed(given)
  if (call === 'convert') return converted(given)
  if (call === 'calls') return page.callsOf(tradeOf(given), given.quote)
  if (call === 'rows') return rows(given)
  return page[call](...given)
}

for await (const program of createInterface({ input: process.stdin })) {
  process.stdout.write(`${text(JSON.parse(program).map(answered))}\n`)
}
