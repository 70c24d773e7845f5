import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { execPath } from 'node:process'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { faultOfSchema, faultsOfValue, schemaLimits } from './answer-schema.ts'

const self = { $ref: '#' }

test('schemas that can be used', () => {
  const usable: object[] = [
    {},
    { type: 'object', properties: { a: { type: 'string', format: 'email' } }, required: ['a'] },
    { type: 'object', properties: { children: { type: 'array', items: self } }, required: ['children'] },
    { type: 'object', properties: { next: { anyOf: [self, { type: 'null' }] } }, required: ['next'] },
    { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } } },
    { $defs: { 'a/b': { $anchor: 'here', type: 'string' } }, items: { $ref: '#here' }, contains: { $ref: '#/$defs/a~1b' } },
    { properties: { $ref: { type: 'string' } }, enum: [{ $ref: 'https://example.com' }] },
    { $schema: 'http://json-schema.org/draft-07/schema#', definitions: { a: { type: 'number' } }, items: { $ref: '#/definitions/a' } },
    { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'array', items: [{ type: 'string' }] },
    { $id: 'https://example.com/answer', type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
    { type: 'string', pattern: '^\\p{Lu}' },
  ]
  for (const schema of usable) assert.equal(faultOfSchema(schema), undefined, JSON.stringify(schema))
})

test('schemas that cannot be used are refused with the path to the fault', () => {
  let deep: object = {}
  for (let level = 0; level < schemaLimits.depth; level++) deep = { not: deep }
  const many = Object.fromEntries(Array.from({ length: schemaLimits.properties + 1 }, (_, n) => [`p${n}`, {}]))
  const cases: [unknown, (string | number)[], RegExp][] = [
    [true, [], /must be object/],
    [[], [], /must be object/],
    [{ type: 'strin' }, ['type'], /must be/],
    [{ properties: { a: { required: 'b' } } }, ['properties', 'a', 'required'], /must be array/],
    [{ anyOf: [{ minLength: -1 }] }, ['anyOf', 0, 'minLength'], /must be >= 0/],
    [{ properties: { a: { pattern: '(' } } }, ['properties', 'a', 'pattern'], /not a regular expression/],
    [{ patternProperties: { '[': {} } }, ['patternProperties', '['], /not a regular expression/],
    [{ items: { $ref: 'https://example.com/s.json' } }, ['items', '$ref'], /must point into the schema itself/],
    [{ items: { $ref: 'other.json#/a' } }, ['items', '$ref'], /must point into the schema itself/],
    [{ items: { $ref: '#/$defs/a' } }, ['items', '$ref'], /points to no schema/],
    [{ items: { $id: 'https://example.com/i' } }, ['items', '$id'], /only at the top/],
    [self, [], /refers to itself/],
    [{ anyOf: [self, { type: 'string' }] }, [], /refers to itself/],
    [{ type: 'object', properties: { a: self }, required: ['a'] }, [], /no finite value/],
    [{ type: 'array', items: self, minItems: 1 }, [], /no finite value/],
    [{ $async: true, type: 'object' }, [], /\$async/],
    [{ $schema: 'https://example.com/dialect' }, [], /unknown dialect; known are 2020-12/],
    [deep, [], /at most 64 levels/],
    [{ properties: many }, [], /at most 1000 properties, but has 1001/],
    [{ description: 'x'.repeat(schemaLimits.bytes) }, [], /at most 65536 bytes/],
  ]
  for (const [schema, path, msg] of cases) {
    const fault = faultOfSchema(schema)
    assert.deepEqual(fault?.path, path, JSON.stringify([fault, schema]).slice(0, 300))
    assert.match(fault?.msg ?? '', msg)
  }
})

test('the faults of a value name their places', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'number' }, b: { enum: ['x', 'y'] } },
    required: ['a', 'c'],
    additionalProperties: false,
  }
  assert.deepEqual(faultsOfValue(schema, { a: 1, c: 2 }), ['the value must not have the property "c"'])
  assert.deepEqual(faultsOfValue(schema, { a: 'one', b: 'z', d: 1 }), [
    "the value must have required property 'c'",
    'the value must not have the property "d"',
    '/a must be number',
    '/b must be one of ["x","y"]',
  ])
  assert.deepEqual(faultsOfValue({ type: 'object', required: ['constructor'] }, {}), [
    "the value must have required property 'constructor'",
  ])
})

test('faults are short, however long the schema is', () => {
  const words = Array.from({ length: 4000 }, (_, n) => `word ${n}`)
  const faults = faultsOfValue({ type: 'array', items: { enum: words } }, Array(20).fill('none'))
  assert.equal(faults.length, 8)
  assert.match(faults[0]!, /^\/0 must be one of \["word 0",.{400,}… \[cut\]$/)
  assert.ok(faults.join().length < 5000)
})

test('a pattern that backtracks without end is interrupted', () => {
  const schema = { type: 'string', pattern: '^(a+)+$' }
  assert.deepEqual(faultsOfValue(schema, 'aaa'), [])
  assert.deepEqual(faultsOfValue(schema, `${'a'.repeat(40)}b`), ['the value could not be checked within 250 ms'])
})

test('references that multiply are interrupted', () => {
  const levels = Array.from({ length: 40 }, (_, n) => [`l${n}`, { allOf: [{ $ref: `#/$defs/l${n + 1}` }, { $ref: `#/$defs/l${n + 1}` }] }])
  const schema = { $ref: '#/$defs/l0', $defs: { ...Object.fromEntries(levels), l40: { type: 'string' } } }
  const [fault] = faultOfSchema(schema) ? ['refused'] : faultsOfValue(schema, 'x')
  assert.match(fault ?? '', /refused|could not be checked/)
})

test('schemas with the same $id are different schemas', () => {
  const named = (type: string) => ({ $id: 'https://example.com/same', type })
  assert.deepEqual(faultsOfValue(named('string'), 'x'), [])
  assert.deepEqual(faultsOfValue(named('number'), 'x'), ['the value must be number'])
  assert.notEqual(faultOfSchema({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }), undefined)
  assert.deepEqual(faultsOfValue({ type: 'string', minLength: 2 }, 'x'), ['the value must NOT have fewer than 2 characters'])
})

test('a process that was suspended in a compilation compiles again, with a new compiler', async () => {
  const code = `import { faultOfSchema } from ${JSON.stringify(new URL('./answer-schema.ts', import.meta.url).href)}
process.stdout.write('ready')
const faults = new Set()
const properties = Object.fromEntries(Array.from({ length: 900 }, (_, n) => ['p' + n, { type: ['string', 'null'], minLength: 1 }]))
for (const end = Date.now() + 2000; Date.now() < end; ) faults.add(faultOfSchema({ title: String(Date.now()), properties })?.msg)
process.stdout.write(JSON.stringify([...faults]))`
  const child = spawn(execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'close')
  while (output === '') await wait(10)
  await wait(100)
  child.kill('SIGSTOP')
  await wait(1200)
  child.kill('SIGCONT')
  await ended
  assert.equal(output, 'ready[null]')
})
