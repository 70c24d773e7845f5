import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toToolSchema } from './tool-schema.ts'

const text = { type: 'string' }

test('the alternatives of a schema become properties of one object, with a note of what is needed', () => {
  const anyOf = [
    { properties: { id: { type: 'integer' } }, required: ['id', 'kind'] },
    { properties: { url: text, kind: text }, required: ['url', 'kind'] },
  ]
  assert.deepEqual(toToolSchema({ $schema: 'x', type: 'object', description: 'A page.', properties: { kind: { const: 'a' } }, anyOf }), {
    type: 'object',
    description: 'A page. Needs one of: id, kind; url, kind.',
    properties: { kind: { const: 'a' }, url: text, id: { type: 'integer' } },
    required: ['kind'],
  })
})

test('references and nested parts at the top are followed, and endless references end', () => {
  const $defs = { page: { properties: { url: text }, required: ['url'] }, loop: { allOf: [{ $ref: '#/$defs/loop' }] } }
  const made = toToolSchema({ allOf: [{ allOf: [{ $ref: '#/$defs/page' }] }, { $ref: '#/$defs/loop' }], $defs })
  assert.deepEqual(made, { $defs, type: 'object', properties: { url: text }, required: ['url'] })
  const { type, properties } = toToolSchema({ $ref: '#/$defs/page', $defs })
  assert.deepEqual({ type, properties }, { type: 'object', properties: { url: text } })
})

test('an array tells its items, at every depth, and the given schema is left as it is', () => {
  const schema = { type: 'object', properties: { list: { type: ['array', 'null'] }, pair: { items: [{ type: 'array' }, text] } } }
  assert.deepEqual(toToolSchema(schema).properties, {
    list: { type: ['array', 'null'], items: {} },
    pair: { items: { anyOf: [{ type: 'array', items: {} }, text] } },
  })
  assert.equal(schema.properties.list.hasOwnProperty('items'), false)
})

test('an accepted schema stays the same', () => {
  const schema = { type: 'object', properties: { list: { type: 'array', items: text } }, required: ['list'], additionalProperties: false }
  assert.deepEqual(toToolSchema(schema), schema)
  assert.deepEqual(toToolSchema({}), { type: 'object', properties: {} })
})
