import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeChanges } from './changed-tools.ts'
import type { Definition } from './pin-store.ts'

const before: Definition = {
  hash: 'a',
  description: 'One.',
  schema: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] },
  annotations: { readOnlyHint: true, title: 'Weather' },
  at: '2026-11-22T09:00:00.000Z',
}

test('the changes of a definition are lines with the path and both values', () => {
  const properties = { city: { type: 'string', description: 'x'.repeat(200) }, key: { type: 'string' } }
  const after = { ...before, description: 'Two.', schema: { ...before.schema, properties }, annotations: { readOnlyHint: false } }
  assert.deepEqual(describeChanges(before, after), [
    'description changed',
    `schema.properties.city.description added: "${'x'.repeat(119)}...`,
    'schema.properties.days removed: {"type":"integer"}',
    'schema.properties.key added: {"type":"string"}',
    'annotations.readOnlyHint changed: true -> false',
    'annotations.title removed: "Weather"',
  ])
})

test('annotations that were not recorded are not compared, and there is always a line', () => {
  const { annotations: _, ...former } = before
  assert.deepEqual(describeChanges(former, { ...before, hash: 'b' }), ['a part changed that the agent does not use'])
})
