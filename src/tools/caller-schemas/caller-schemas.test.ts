import assert from 'node:assert/strict'
import { threadCpuUsage } from 'node:process'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { JsonSchema } from '../../agent/messages.ts'
import { schemaLimits } from '../../json/schema/answer-schema.ts'
import { createCallerSchemas } from './caller-schemas.ts'

const schemas = createCallerSchemas()
after(() => schemas.close())
const caller = { tenant: 'T', owner: 'a' }
const other = { tenant: 'U', owner: 'b' }

/** A schema near the limits of length and properties. `title` makes each a schema of its own. */
function largest(title: string): JsonSchema {
  const names = Array.from({ length: 900 }, (_, n) => `property_${n}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: ['string', 'null'], minLength: 1 }]))
  return { title, type: 'object', properties, required: names, additionalProperties: false }
}

/** Calls `work`, and returns its result with the processor time of the longest turn of the event loop, in milliseconds. */
async function longestPause<T>(work: () => Promise<T>): Promise<{ result: T; pauseMs: number }> {
  let pauseMs = 0
  let isOver = false
  const watch = async () => {
    while (!isOver) {
      const before = threadCpuUsage()
      await setImmediate()
      const { user, system } = threadCpuUsage(before)
      pauseMs = Math.max(pauseMs, (user + system) / 1000)
    }
  }
  const watching = watch()
  const result = await work().finally(() => (isOver = true))
  await watching
  return { result, pauseMs }
}

test('the largest schemas hold up nothing, and short schemas overtake them', async () => {
  // The compilers are created once.
  for (const use of ['answer', 'input'] as const) await schemas.faultOf(use, { type: 'string' }, caller)
  const order: string[] = []
  const { pauseMs } = await longestPause(async () => {
    const slow = (['answer', 'input'] as const).map(async (use) => {
      assert.equal(await schemas.faultOf(use, largest(use), caller), undefined)
      order.push('long')
    })
    assert.equal(await schemas.faultOf('answer', { type: 'object', title: 'short' }, caller), undefined)
    order.push('short')
    await Promise.all(slow)
  })
  assert.deepEqual(order, ['short', 'long', 'long'])
  assert.ok(pauseMs < 150, `the event loop was held up for ${pauseMs} ms`)
  assert.deepEqual((await schemas.faultsOf('answer', largest('answer'), { property_0: 1 }, caller)).length, 8)
  assert.match((await schemas.faultsOf('input', largest('input'), {}, caller)).join(), /^property_0 is required$/)
  const tooMany = { properties: Object.fromEntries(Array.from({ length: schemaLimits.properties + 1 }, (_, n) => [`p${n}`, {}])) }
  assert.match((await schemas.faultOf('answer', tooMany, caller))?.msg ?? '', /at most 1000 properties/)
})

test('patterns that backtrack and references that multiply hold up nobody for long', async () => {
  const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
  const levels = Array.from({ length: 40 }, (_, n) => [`l${n}`, { anyOf: Array(2).fill({ $ref: `#/$defs/l${n + 1}` }) }])
  const references = { properties: { a: { $ref: '#/$defs/l0' } }, $defs: { ...Object.fromEntries(levels), l40: { const: 'aaa' } } }
  for (const [use, schema] of [
    ['answer', pattern],
    ['input', pattern],
    ['input', references],
  ] as const) {
    const value = { a: `${'a'.repeat(60)}!` }
    const { result, pauseMs } = await longestPause(() => schemas.faultsOf(use, schema, value, caller))
    // References that multiply need time and memory: which limit comes first depends on the machine.
    assert.match(result.join(), /could not be checked(?: within 250 ms|: the check takes too much memory)/)
    assert.ok(pauseMs < 150, `the event loop was held up for ${pauseMs} ms`)
    if (schema === pattern) assert.deepEqual(await schemas.faultsOf(use, schema, { a: 'aaa' }, caller), [])
  }
})

test('a check that needs too much memory ends alone', async () => {
  const schema = { type: 'array', items: { type: 'string', pattern: '^((?:(?:.?){1000}){1000}|b)*$' } }
  const { result, pauseMs } = await longestPause(() => schemas.faultsOf('answer', schema, ['a'.repeat(100_000)], caller))
  assert.match(result.join(), /could not be checked/)
  assert.ok(pauseMs < 150, `the event loop was held up for ${pauseMs} ms`)
  const named = { ...largest('other'), properties: { constructor: { type: 'string' }, ['__proto__']: {}, toString: { const: 1 } } }
  assert.deepEqual(await schemas.faultsOf('answer', named, 1, other), ['the value must be object'])
})
