import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCheck } from './builder.ts'
import { createCheckMaker } from './mcp/server-tool.ts'

const check = createCheck({
  type: 'object',
  properties: {
    expression: { type: 'string' },
    limit: { type: 'integer', minimum: 1 },
    unit: { enum: ['m', 'km'] },
    place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  required: ['expression'],
  additionalProperties: false,
})

test('a valid input passes the check', () => {
  assert.equal(check({ expression: '1 + 1', limit: 3, unit: 'km', place: { city: 'Bern' } }), undefined)
})

test('an invalid input is described in one sentence that names the parameter', () => {
  assert.equal(check({}), 'expression is required')
  assert.equal(check({ expression: '1', limit: 'x' }), 'limit must be integer')
  assert.equal(check({ expression: '1', limit: 0 }), 'limit must be >= 1')
  assert.equal(check({ expression: '1', bogus: true }), 'bogus is not a parameter')
  assert.equal(check({ expression: '1', unit: 'mile' }), 'unit must be one of m, km')
  assert.equal(check({ expression: '1', place: {} }), 'place.city is required')
  assert.equal(check(['expression']), 'the input must be object')
})

test('a value is not converted to make it fit', () => {
  assert.equal(check({ expression: 1 }), 'expression must be string')
})

test('a parameter may have the name of an inherited object property', () => {
  const schema = { type: 'object', properties: { constructor: { type: 'string' } }, required: ['toString'] }
  for (const validate of [createCheck(schema), createCheckMaker()(schema)]) {
    assert.equal(validate({}), 'toString is required')
    assert.equal(validate({ toString: 'a' }), undefined)
    assert.equal(validate({ toString: 'a', constructor: 1 }), 'constructor must be string')
  }
})
