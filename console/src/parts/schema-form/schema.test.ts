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
