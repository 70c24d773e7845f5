import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialValue, kindOf, resolveSchema, type FormSchema } from './schema.ts'

test('local references and nullable alternatives are followed', () => {
  const root: FormSchema = { $defs: { Size: { type: 'integer', minimum: 1 } } }
  assert.equal(kindOf(resolveSchema({ $ref: '#/$defs/Size' }, root)), 'number')
  const nullable = resolveSchema({ anyOf: [{ type: 'string' }, { type: 'null' }], description: 'A name.' }, root)
  assert.deepEqual([kindOf(nullable), nullable.description], ['string', 'A name.'])
})

test('a reference that leads in a circle or nowhere is shown as JSON', () => {
  assert.equal(kindOf(resolveSchema({ $ref: '#/$defs/A' }, { $defs: { A: { $ref: '#/$defs/A' } } })), 'json')
  assert.equal(kindOf(resolveSchema({ $ref: '#/$defs/constructor' }, { $defs: {} })), 'json')
})

test('what no input can show is JSON', () => {
  for (const schema of [{}, { type: 'object' }, { type: ['string', 'number'] }, { oneOf: [{ type: 'string' }, { type: 'number' }] }])
    assert.equal(kindOf(resolveSchema(schema, {})), 'json')
})

test('a form begins with the defaults', () => {
  const schema: FormSchema = {
    type: 'object',
    required: ['limit', 'query'],
    properties: { limit: { type: 'integer', default: 5 }, query: { type: 'string' }, extra: { type: 'string', default: 'x' } },
  }
  assert.deepEqual(initialValue(schema, schema), { limit: 5 })
})

test('a schema that contains itself gives a value of bounded size', () => {
  const names = Array.from({ length: 10 }, (_, n) => `child${n}`)
  const node: FormSchema = {
    type: 'object',
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/Node' }])),
  }
  const value = initialValue({ $ref: '#/$defs/Node' }, { $defs: { Node: node } })
  assert.equal(JSON.stringify(value).match(/\{/g)!.length, 50)
})

test('an object with more properties than a form can show is JSON', () => {
  const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`p${n}`, { type: 'string' }]))
  assert.equal(kindOf({ type: 'object', properties }), 'json')
})
