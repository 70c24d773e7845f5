import { createRequire, flushCompileCache } from 'node:module'
import process from 'node:process'
import vm from 'node:vm'
import type { BigNumber, ConfigOptions, MathJsInstance } from 'mathjs'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
import { messageOf } from '../../errors.ts'

/** Process for expressions. */

export type Answer = { result: string } | { error: string }

/** 64 digits are calculated and fewer are printed, so that rounding errors (1/3*3, sqrt(2)^2) do not appear. */
const precision = 64
const printedDigits = 20
const decimals = 15
/** Smaller results are printed as 0: above the error of sin(pi) with 64 digits, below every constant of nature. */
const negligible = 1e-60
/** Maximum lengths of results and errors in characters. */
const maxResultCharacters = 10_000
const maxErrorCharacters = 1_000
/** Time limit for an expression still running after the service has died. A living service stops expressions much earlier. */
const orphanedMs = 10_000

/** The single-file build of mathjs loads ten times faster than its several hundred modules. Class names are shortened in the build. */
const require = createRequire(import.meta.url)
const library = require('mathjs/lib/browser/math.js') as { create(config: ConfigOptions): MathJsInstance }
const math = library.create({ number: 'BigNumber', precision })
const parse = math.parse.bind(math)
math.import({ ln: (x: BigNumber) => math.log(x) }, {})

/** Refused functions: they evaluate text, change the state of later calls, or expose internals. See mathjs' notes on security. */
const refusedNames = new Set([
  ...['import', 'config', 'createUnit', 'typed', 'reviver', 'replacer', 'help', 'chain', 'parser'],
  ...['evaluate', 'parse', 'compile', 'simplify', 'simplifyCore', 'simplifyConstant', 'derivative', 'rationalize', 'resolve'],
  ...['symbolicEqual', 'leafCount', 'polynomialRoot'],
])

function formatNumber(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  // Floating point numbers are exact to 15 digits: 0.1 + 0.2 is 0.3.
  const number = math.bignumber(typeof value === 'number' && Number.isFinite(value) ? value.toPrecision(15) : (value as BigNumber))
  if (number.isNaN()) throw new Error('the result is not a number (0/0, for instance)')
  if (!number.isFinite()) throw new Error('the result is infinite (a division by zero, for instance)')
  if (number.abs().lt(negligible)) return '0'
  if (number.isInteger() && number.abs().lt(1e64)) return number.toFixed()
  const rounded = number.toSignificantDigits(Math.min(precision - 4, Math.max(printedDigits, number.e + 1 + decimals)))
  return rounded.abs().gte(1e-7) && rounded.abs().lt(1e45) ? rounded.toFixed() : rounded.toString()
}

function format(value: unknown): string {
  if (value === undefined) throw new Error('there is nothing to calculate')
  if (typeof value === 'string') return value
  if (typeof value === 'function') throw new Error('the result is a function, not a value')
  // Several expressions in a text (`x = 5; x * 2`): only results not silenced by a semicolon.
  if (math.isResultSet(value)) return (value as { entries: unknown[] }).entries.map(format).join('\n')
  return math.format(value, formatNumber)
}

function calculate(expression: string): string {
  const tree = parse(expression)
  tree.traverse((node) => {
    const name = 'name' in node ? String(node.name) : ''
    if (refusedNames.has(name)) throw new Error(`${name} cannot be used here`)
  })
  const result = format(tree.evaluate(new Map()))
  if (result.length > maxResultCharacters) throw new Error(`the result has ${result.length} characters, more than ${maxResultCharacters}`)
  return result
}

function answer(text: string): Answer {
  try {
    return { result: vm.runInContext('work()', vm.createContext({ work: () => calculate(text) }), { timeout: orphanedMs }) }
  } catch (error) {
    // mathjs was interrupted and may be in an inconsistent state, so the process ends.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') process.exit(1)
    return { error: messageOf(error).slice(0, maxErrorCharacters) }
  }
}

// mathjs initializes lazily at its first use, which must not count against the time limit of an expression.
answer('1 + 1')
freezeIntrinsics()
serveQuestions(({ expression }: { expression: string }) => answer(expression))
// Write the compile cache now, because a killed process would not write the cache at exit.
flushCompileCache()
