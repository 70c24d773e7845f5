import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toJsonSchema } from '../../../../src/configuration/schema-walk.ts'
import { placeAt } from './cursor.ts'
import { fieldsAt, valuesAt } from './fields.ts'
import type { SchemaNode } from './schema-node.ts'

const schema = toJsonSchema() as SchemaNode

/** Kind, path and suggestions at the bar in a text. */
function suggest(marked: string): [kind: string, path: string, labels: string[]] | undefined {
  const offset = marked.indexOf('¦')
  const place = placeAt(marked.replace('¦', ''), offset)
  if (!place) return undefined
  const { kind, path, data, siblings } = place
  const fields = kind === 'key' ? fieldsAt(schema, data, path).filter(({ label }) => !siblings.includes(label)) : []
  const suggestions = fields.length > 0 ? fields : valuesAt(schema, data, path)
  return [kind, path.join('.'), suggestions.map(({ label }) => label)]
}

test('names of fields are suggested at the place of the cursor, without those that are there', () => {
  const [kind, path, labels] = suggest('llms:\n  primary:\n    provider: openai\n    ¦\n  fallback: []\n')!
  assert.deepEqual([kind, path, labels.slice(0, 2)], ['key', 'llms.primary', ['model', 'api_key']])
  assert.deepEqual(suggest('llms: { primary: { provider: openai, mo¦ } }')?.slice(0, 2), ['key', 'llms.primary'])
  assert.deepEqual(suggest('tools:\n  - ¦')?.[2].slice(0, 2), ['name', 'type'])
  assert.ok(suggest('na¦')?.[2].includes('name'))
  assert.equal(suggest('name: a\nllm¦: 3')?.[0], 'key')
})

test('the fields of a tool depend on its type, or on its name without a type', () => {
  assert.deepEqual(suggest('tools:\n  - name: sales\n    type: data_query\n    config:\n      ¦')?.[2], ['tables', 'max_rows'])
  assert.ok(suggest('tools: [{ name: http_request, config: { ¦ } }]')?.[2].includes('allowed_hosts'))
  assert.deepEqual(suggest('tools: [{ name: sales, config: { ¦ } }]')?.[2], [])
})

test('listed values are suggested, also of list entries and in quotes', () => {
  assert.deepEqual(suggest('approvals:\n  by: ¦')?.[2], ['caller', 'role'])
  assert.deepEqual(suggest('approvals:\n  effects: [w¦]')?.[2], ['read', 'write'])
  assert.deepEqual(suggest('approvals:\n  effects:\n    - w¦')?.[2], ['read', 'write'])
  assert.deepEqual(suggest('workflow_type: "re¦"')?.[2], ['react', 'plan_execute'])
  assert.deepEqual(suggest('sub_agents:\n  may_create: t¦')?.[2], ['true', 'false'])
  assert.ok(suggest('tools:\n  - name: a\n    type: ¦')?.[2].includes('data_query'))
})

test('comments, and words inside of a text, have no place', () => {
  assert.equal(suggest('name: a # na¦'), undefined)
  assert.equal(suggest('instructions: |\n  hello na¦'), undefined)
  assert.equal(suggest('description: one tw¦'), undefined)
})
