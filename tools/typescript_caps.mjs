// Prints functions of TypeScript files beyond the caps: node tools/typescript_caps.mjs LINES NESTING FILE...
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const ts = createRequire(new URL('../clients/typescript/package.json', import.meta.url))('typescript')
const [lines, nesting, ...files] = process.argv.slice(2)

/** The deepest nesting of blocks below a node. */
function depth(node, level = 0) {
  let deepest = level
  ts.forEachChild(node, (child) => {
    if (ts.isFunctionLike(child)) return
    deepest = Math.max(deepest, depth(child, level + (ts.isBlock(child) || ts.isCaseBlock(child) ? 1 : 0)))
  })
  return deepest
}

for (const file of files) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const line = (place) => source.getLineAndCharacterOfPosition(place).line + 1
      const where = `${file}:${line(node.getStart())}: ${(node.name ?? node.parent.name)?.getText() ?? 'a function'}`
      const long = line(node.end) - line(node.getStart()) + 1
      if (long > lines) console.log(`${where} has ${long} lines, at most ${lines}`)
      if (depth(node.body) > nesting) console.log(`${where} nests ${depth(node.body)} deep, at most ${nesting}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
}
