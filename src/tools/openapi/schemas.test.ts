import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCheck } from '../builder.ts'
import { createReferences } from './references.ts'
import { toInputSchema } from './schemas.ts'

function convert(schema: unknown, schemas: object = {}, maxCharacters = 20_000) {
  return toInputSchema(schema, createReferences({ components: { schemas } }, 'folder:/document/spec.yaml'), maxCharacters)
}

test('keywords of OpenAPI 3.0 are converted to JSON Schema', () => {
  assert.deepEqual(convert({ type: 'string', nullable: true }), { type: ['string', 'null'] })
  assert.deepEqual(convert({ type: 'string', nullable: true, enum: ['a', null] }), { type: ['string', 'null'], enum: ['a', null] })
  const chosen = convert({ type: 'string', nullable: true, enum: ['a'] })
  assert.deepEqual([createCheck(chosen)('a'), createCheck(chosen)(null)], [undefined, undefined])
  assert.ok(createCheck(chosen)('b'))
  assert.deepEqual(convert({ type: 'integer', minimum: 1, exclusiveMinimum: true }), { type: 'integer', minimum: 1, exclusiveMinimum: 1 })
  assert.deepEqual(convert({ type: 'number', exclusiveMaximum: 5 }), { type: 'number', exclusiveMaximum: 5 })
  assert.deepEqual(convert({ nullable: true, allOf: [{ type: 'object', properties: { a: { type: 'string' } } }] }), {
    type: ['object', 'null'],
    properties: { a: { type: 'string' } },
  })
})

test('read-only properties are left out at every level', () => {
  const schemas = { Id: { type: 'string', readOnly: true } }
  const schema = {
    type: 'object',
    required: ['id', 'at', 'name'],
    properties: {
      id: { $ref: '#/components/schemas/Id' },
      at: { type: 'string', readOnly: true },
      name: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
    },
  }
  assert.deepEqual(convert(schema, schemas), {
    type: 'object',
    properties: { name: { type: 'string' }, secret: { type: 'string' } },
    required: ['name'],
  })
})

test('`allOf` of several objects is merged into one schema', () => {
  const schemas = { Pet: { type: 'object', required: ['name'], properties: { name: { type: 'string' } }, additionalProperties: false } }
  const dog = {
    allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', required: ['bark'], properties: { bark: { type: 'boolean' } } }],
  }
  assert.deepEqual(convert(dog, schemas), {
    type: 'object',
    properties: { name: { type: 'string' }, bark: { type: 'boolean' } },
    required: ['name', 'bark'],
  })
})

test('a recursive schema is expanded a few times and accepts any value beyond', () => {
  const schemas = { Node: { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#/components/schemas/Node' } } } }
  const schema = convert({ $ref: '#/components/schemas/Node' }, schemas)
  const check = createCheck(schema)
  assert.equal(check({ name: 'a', next: { name: 'b', next: { name: 'c', next: { name: 'd', next: {} } } } }), undefined)
  assert.equal(check({ next: { name: 1 } }), 'next.name must be string')
  assert.ok(JSON.stringify(schema).length < 1000)
  assert.deepEqual(
    convert({ $ref: '#/components/schemas/A' }, { A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } }),
    {},
  )
  const around: Record<string, unknown> = { type: 'object' }
  around['properties'] = { self: around }
  assert.ok(JSON.stringify(convert(around)).length < 1000)
})

test('a reference to another document accepts any value, and nothing is fetched', () => {
  assert.deepEqual(convert({ $ref: 'http://169.254.169.254/x.json#/a' }), {})
  assert.deepEqual(convert({ $ref: '../other.yaml#/a' }), {})
  assert.deepEqual(convert({ $ref: '#/components/schemas/None' }), {})
  assert.deepEqual(convert({ $ref: '#/__proto__/x' }), {})
})

test('a large schema loses descriptions first, then depth, but never its outer structure', () => {
  const leaf = (n: number) => ({ type: 'string', description: `What leaf number ${n} of all of them is good for. `.repeat(5) })
  const many = (prefix: string, one: (n: number) => object) =>
    Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${prefix}${n}`, one(n)]))
  const deep = { type: 'object', properties: many('a', () => ({ type: 'object', properties: many('b', leaf) })) }
  const schema = convert(deep, {}, 5000)
  assert.ok(JSON.stringify(schema).length <= 5000)
  assert.deepEqual(Object.keys(schema['properties'] as object).length, 40)
  assert.equal(createCheck(schema)({ a1: { b1: 'x', more: 1 } }), undefined)
})

test('invalid schemas and keywords are tolerated', () => {
  for (const schema of [
    null,
    1,
    'x',
    [],
    { type: 'file' },
    { type: {} },
    { required: true },
    { enum: [] },
    { items: [] },
    { minimum: 'x' },
  ]) {
    assert.doesNotThrow(() => createCheck(convert(schema)), JSON.stringify(schema))
  }
  assert.deepEqual(convert({ type: 'string', pattern: '^(a+)+$' }), { type: 'string', description: 'Pattern: ^(a+)+$' })
  assert.deepEqual(convert({ type: 'array' }), { type: 'array', items: {} })
  assert.deepEqual(convert({ oneOf: [{ type: 'string' }, { type: 'integer' }] }), { anyOf: [{ type: 'string' }, { type: 'integer' }] })
  const polluting = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}') as unknown
  assert.deepEqual(Object.keys(convert(polluting)['properties'] as object), ['constructor'])
})

test('invisible characters are removed from descriptions', () => {
  assert.deepEqual(convert({ type: 'string', description: 'A\u200b name\u{e0041}.  Twice  spaced. ' }), {
    type: 'string',
    description: 'A name. Twice spaced.',
  })
})
