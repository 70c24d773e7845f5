import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonSchema } from '../../agent/messages.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import { toResponseFormat } from './response-format.ts'

const tool = { name: 'look', description: 'Looks.', effect: 'read' as const, schema: { type: 'object' } }
const person: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['name', 'tags'],
  additionalProperties: false,
}

function format(responseSchema: JsonSchema, tools = [tool], ability: ModelAbilities['structuredOutput'] = 'with_tools') {
  const sent = toResponseFormat({ tools, responseSchema }, ability)
  return sent as { type: string; json_schema: { name: string; schema: JsonSchema; strict: boolean } } | undefined
}

test('the schema is sent where it leaves the tools usable', () => {
  const { $schema: _, ...schema } = person
  assert.deepEqual(format(person), { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } })
  assert.equal(format(person, [tool], 'without_tools'), undefined)
  assert.equal(format(person, [], 'without_tools')?.json_schema.strict, true)
  assert.equal(format(person, [], 'none'), undefined)
  assert.equal(format({ type: 'array', items: person }), undefined)
})

test('the provider enforces only schemas of its subset', () => {
  const change = (change: JsonSchema) => format({ ...person, ...change })?.json_schema.strict
  assert.equal(change({ required: ['name'] }), false)
  assert.equal(change({ additionalProperties: true }), false)
  assert.equal(change({ minProperties: 1 }), false)
  assert.equal(change({ properties: { name: {}, tags: {} } }), false)
  assert.equal(change({ properties: { name: { type: 'string', minLength: 1 }, tags: { enum: [1] } } }), false)
  assert.equal(change({ properties: { name: { $ref: '#/$defs/n' }, tags: { enum: [1] } }, $defs: { n: { type: 'string' } } }), true)
  assert.equal(format({ type: 'object' })?.json_schema.strict, false)
})
