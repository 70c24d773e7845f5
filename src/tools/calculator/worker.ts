import { createRequire, flushCompileCache } from 'node:module'
import process from 'node:process'
import vm from 'node:vm'
import type { BigNumber, ConfigOptions, MathJsInstance } from 'mathjs'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import type { WorkerMessage } from '../../processes/worker-processes.ts'
import { toExpression } from './syntax.ts'

/** A process for expressions: told `{expression}`, it answers one after another; it ends when its channel closes. */

export type Answer = { result: string } | { error: string }

/** 64 digits are calculated and fewer shown, so that what rounding leaves behind (1/3*3, sqrt(2)^2) is not seen. */
const calculated = 64
const shown = 20
const decimals = 15
/** What is left of sin(pi) when it is calculated to 64 digits; smaller than any constant of nature. */
const negligible = 1e-60
/** More is no result that anybody reads. */
const longest = 10_000
const longestError = 1_000
/** Only for an expression that runs when the service dies, which would have stopped it long before. */
const orphanedMs = 10_000

/** The build of mathjs in one file loads in a tenth of the time that its several hundred modules take. Its names of classes are shortened. */
const require = createRequire(import.meta.url)
const library = require('mathjs/lib/browser/math.js') as { create(config: ConfigOptions): MathJsInstance }
const math = library.create({ number: 'BigNumber', precision: calculated })
const parse = math.parse.bind(math)
math.import({ ln: (x: BigNumber) => math.log(x) }, {})

/** What reads expressions from text, changes what later calls see, or shows the program's own inside; see mathjs' notes on security. */
const closed = new Set([
  ...['import', 'config', 'createUnit', 'typed', 'reviver', 'replacer', 'help', 'chain', 'parser'],
  ...['evaluate', 'parse', 'compile', 'simplify', 'simplifyCore', 'simplifyConstant', 'derivative', 'rationalize', 'resolve'],
  ...['symbolicEqual', 'leafCount', 'polynomialRoot'],
])

function formatNumber(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  // A floating point number is exact to 15 digits: 0.1 + 0.2 is 0.3.
  const number = math.bignumber(typeof value === 'number' && Number.isFinite(value) ? value.toPrecision(15) : (value as BigNumber))
  if (number.isNaN()) throw new Error('the result is not a number (0/0, for instance)')
  if (!number.isFinite()) throw new Error('the result is infinite (a division by zero, for instance)')
  if (number.abs().lt(negligible)) return '0'
  if (number.isInteger() && number.abs().lt(1e64)) return number.toFixed()
  const rounded = number.toSignificantDigits(Math.min(calculated - 4, Math.max(shown, number.e + 1 + decimals)))
  return rounded.abs().gte(1e-7) && rounded.abs().lt(1e45) ? rounded.toFixed() : rounded.toString()
}

function format(value: unknown): string {
  if (value === undefined) throw new Error('there is nothing to calculate')
  if (typeof value === 'string') return value
  if (typeof value === 'function') throw new Error('the result is a function, not a value')
  // Several expressions in one (`x = 5; x * 2`): what is not silenced by a semicolon.
  if (math.isResultSet(value)) return (value as { entries: unknown[] }).entries.map(format).join('\n')
  return math.format(value, formatNumber)
}

function calculate(expression: string): string {
  const tree = parse(expression)
  tree.traverse((node) => {
    const name = 'name' in node ? String(node.name) : ''
    if (closed.has(name)) throw new Error(`${name} can not be used here`)
  })
  const result = format(tree.evaluate(new Map()))
  if (result.length > longest) throw new Error(`the result has ${result.length} characters, more than ${longest}`)
  return result
}

function answer(text: string): Answer {
  try {
    return { result: vm.runInContext('work()', vm.createContext({ work: () => calculate(toExpression(text)) }), { timeout: orphanedMs }) }
  } catch (error) {
    // Whatever mathjs was in the middle of is not to be trusted any more.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') process.exit(1)
    return { error: (error instanceof Error ? error.message : String(error)).slice(0, longestError) }
  }
}

process.on('message', ({ expression }: { expression: string }) => process.send?.(answer(expression)))
process.on('disconnect', () => process.exit(0))
// mathjs makes most of itself at the first use, which is not the time of anybody's expression.
answer('1 + 1')
freezeIntrinsics()
process.send?.({ ready: true } satisfies WorkerMessage<Answer>)
// A process that is killed would leave nothing to the next.
flushCompileCache()
