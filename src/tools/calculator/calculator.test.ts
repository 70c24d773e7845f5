import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import type { ToolContext } from '../../agent/tool.ts'
import { createCalculator, toExpression } from './calculator.ts'
import { contextOf } from '../../agent/react-fixture.ts'

const spec = { name: 'calculator', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const endless = 'f(n) = n < 1 ? 0 : f(n - 1) + f(n - 1); f(60)'
const built = createCalculator(spec)
after(() => built.close?.())

function contextWith(signal = new AbortController().signal): ToolContext {
  return contextOf({ signal })
}

async function calculate(expression: string, { tool } = built, signal?: AbortSignal): Promise<string> {
  const output = (await tool.execute({ expression }, contextWith(signal))) as { expression: string; result: string }
  assert.equal(output.expression, expression)
  return output.result
}

async function refused(expression: string, message: RegExp): Promise<void> {
  await assert.rejects(calculate(expression), (error: Error) => message.test(error.message) || assert.fail(error.message))
}

test('sums are exact, without the rounding errors of binary fractions', async () => {
  const sums = {
    '0.1 + 0.2': '0.3',
    '1/3*3': '1',
    'sqrt(2)^2': '2',
    'sin(pi)': '0',
    '1/3': '0.33333333333333333333',
    '2^100': '1267650600228229401496703205376',
    '12345678901234567890.12 + 1': '12345678901234567891.12',
    '6.62607015e-34 * 2': '1.32521403e-33',
    'number(0.1) + number(0.2)': '0.3',
  }
  for (const [expression, result] of Object.entries(sums)) assert.equal(await calculate(expression), result, expression)
})

test('percentages, grouped thousands and typographic signs are understood', async () => {
  const sums = {
    '17% of 2340': '397.8',
    '17% of 2,340': '397.8',
    '100 + 3%': '103',
    '1,234,567.5 × 2': '2469135',
    '(2,340 + 5) ÷ 5': '469',
    '2 ** 8 − 6': '250',
    'max(1,200)': '200',
    'round((2,340 * 1.05), 1)': '2457',
    '[1,200]': '[1, 200]',
    '90 km/h to m/s': '25 m / s',
    'x = 5; x * 2': '10',
    '5 > 3': 'true',
  }
  for (const [expression, result] of Object.entries(sums)) assert.equal(await calculate(expression), result, expression)
})

test('numbers of every kind, units, fractions and matrices are calculated', async () => {
  const expressions = {
    '10! / 8!': '90',
    'bigint(2)^70': '1180591620717411303424',
    'bignumber(2)^0.5': '1.4142135623730950488',
    'fraction(0.25) + fraction(0.5)': '3/4',
    '5 feet + 11 inches to cm': '180.34 cm',
    speedOfLight: '299792458 m / s',
    'sqrt(-4)': '2i',
    '(2 + 3i) * (1 - i)': '5 + i',
    '[1, 2; 3, 4] * [5; 6]': '[[17], [39]]',
    'inv([4, 7; 2, 6])': '[[0.6, -0.7], [-0.2, 0.4]]',
    'det([1, 2; 3, 4])': '-2',
    'f(x) = x^2 + 1; f(3)': '10',
    'a = 1; b = 2\na + b; a - b': '2\n-1',
    'mean(1, 2, 3, 4)': '2.5',
    'hex(255)': '0xff',
    '{total: 3}.total': '3',
  }
  for (const [expression, result] of Object.entries(expressions)) assert.equal(await calculate(expression), result, expression)
})

test('an expression that cannot be calculated is refused with the reason', async () => {
  await refused('2 +', /^The expression cannot be calculated: Unexpected end of expression/)
  await refused('foo * 2', /Undefined symbol foo/)
  await refused('1 / 0', /the result is infinite/)
  await refused('f(x) = x', /a function, not a value/)
  await refused(' ', /there is nothing to calculate/)
  await refused('ones(200, 200)', /the result has \d+ characters/)
})

test('an expression can reach neither the program nor the state of later ones', async () => {
  for (const name of [
    'import',
    'config',
    'createUnit',
    'evaluate',
    'parse',
    'parser',
    'simplify',
    'derivative',
    'typed',
    'help',
    'chain',
  ]) {
    await refused(`${name}("2")`, new RegExp(`${name} cannot be used here|Undefined (function|symbol) ${name}`))
    await refused(`g = ${name}; g("2")`, new RegExp(`${name} cannot be used here|Undefined (function|symbol) ${name}`))
  }
  await refused('cos.constructor("return process")()', /cannot be calculated/)
  await refused('[].map.constructor', /Cannot access/)
  await refused('"a".__proto__', /No access/)
  await calculate('pi = 3; leftover = 7')
  await refused('leftover', /Undefined symbol/)
  assert.equal(await calculate('round(pi, 2)'), '3.14')
})

test('an endless expression is stopped, and the waiting calls get their results', async () => {
  const impatient = createCalculator(spec, undefined, { expressionMs: 300 })
  const stuck = assert.rejects(calculate(endless, impatient), /^Error: The expression took longer than 0.3 s\.$/)
  const waitingCalls = Promise.all(['1 + 1', '2 + 2', '3 + 3'].map((sum) => calculate(sum, impatient)))
  await stuck
  assert.deepEqual(await waitingCalls, ['2', '4', '6'])
  await impatient.close?.()
})

test('an aborted call ends at once, running or waiting, without ending other calls', async () => {
  assert.equal(await calculate('1'), '1')
  const running = new AbortController()
  const waiting = new AbortController()
  const calls = [calculate(endless, built, running.signal), calculate('5', built, waiting.signal), calculate('6')]
  waiting.abort(new Error('waiter left'))
  running.abort(new Error('runner left'))
  const ends = await Promise.allSettled(calls)
  assert.deepEqual(
    ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.message)),
    ['runner left', 'waiter left', '6'],
  )
  await assert.rejects(calculate('1', built, AbortSignal.abort(new Error('late'))), /late/)
})

test('an expression that uses up its memory fails alone', async () => {
  // On a busy machine memory may need longer to run out than an expression has.
  const patient = createCalculator(spec, undefined, { expressionMs: 60_000 })
  const call = calculate('ones(5000, 5000)', patient)
  const next = calculate('7', patient)
  await assert.rejects(call, /needs too much memory/)
  assert.equal(await next, '7')
  await patient.close?.()
})

test('a large allocation ends neither the service nor a simultaneous call', async () => {
  const calls = [calculate('zeros(100000000)'), calculate('concat(zeros(3000, 3000), ones(3000, 3000))'), calculate('8')]
  const [large, concatenated, small] = await Promise.allSettled(calls)
  for (const end of [large, concatenated]) {
    assert.match(end?.status === 'rejected' ? String(end.reason) : 'fulfilled', /needs too much memory|took longer than 2 s/)
  }
  assert.deepEqual(small, { status: 'fulfilled', value: '8' })
})

test('a slow expression does not block the next', async () => {
  const patient = createCalculator(spec, undefined, { expressionMs: 60_000 })
  const leaving = new AbortController()
  const slow = assert.rejects(calculate(endless, patient, leaving.signal), /left/)
  assert.equal(await calculate('5 * 5', patient), '25')
  leaving.abort(new Error('left'))
  await slow
  await patient.close?.()
})

test('spellings are replaced in linear time', () => {
  const started = performance.now()
  for (const text of [
    `${'a'.repeat(100_000)}${' 1,234'.repeat(20_000)}`,
    '('.repeat(200_000),
    '1,234,'.repeat(40_000),
    '% '.repeat(100_000),
  ]) {
    assert.ok(toExpression(text).length > 0)
  }
  assert.ok(performance.now() - started < 1_000)
})

test('an idle process is ended and started again on demand', async () => {
  const brief = createCalculator(spec, undefined, { idleMs: 1 })
  assert.equal(await calculate('1 + 1', brief), '2')
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(await calculate('2 + 2', brief), '4')
  await brief.close?.()
})

test('a closed calculator refuses new and waiting calls', async () => {
  const closing = createCalculator(spec)
  const pending = assert.rejects(calculate('1', closing), /closed/)
  await closing.close?.()
  await pending
  await assert.rejects(calculate('1', closing), /closed/)
})

test('an expression leaves no state behind for the next', async () => {
  const controls = ['1 km to m', 'round(pi, 2)', 'e', '5 cm + 1 m', 'sin(1)', '1/3', 'sqrt(2)', '[1,2;3,4] * 2', 'speedOfLight']
  const before = await Promise.all(controls.map((control) => calculate(control)))
  const attempts = [
    ...['createUnit("foo")', 'import({sin: 1})', 'config({number: "number"})', 'pi = 3; e = 1; sin = cos; km = 5; speedOfLight = 1'],
    ...[
      'x = unit("1 km"); x.units[1].unit.value = 5',
      'x = unit("1 km"); x.units[1].unit.name = "zz"',
      'x = unit("1 km"); x.fixPrefix = true',
    ],
    ...['{"__proto__": {"x": 1}}.x', 'a = {}; a.constructor', 'a = {toString: 1, valueOf: 2}', 'f(x) = x; f.constructor', 'sqrt.transform'],
    ...['bignumber(2).constructor', 'matrix([1]).constructor', 'a = [1]; a["__proto__"]', 'subset({a: 1}, index("constructor"), 2)'],
  ]
  for (const attempt of attempts) await calculate(attempt).catch(() => undefined)
  assert.deepEqual(await Promise.all(controls.map((control) => calculate(control))), before)
})
