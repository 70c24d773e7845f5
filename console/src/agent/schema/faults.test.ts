import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { toJsonSchema } from '../../../../src/configuration/schema-walk.ts'
import { findFaults, parseText, rangeAt } from './faults.ts'
import type { SchemaNode } from './schema-node.ts'

const schema = toJsonSchema() as SchemaNode
const find = (text: string) => findFaults(parseText(text), schema).map(({ line, path, message }) => [line, path, message.slice(0, 34)])

test('the sample configuration has no fault', () => {
  const sample = new URL('../../../../samples/agent.yaml', import.meta.url)
  assert.deepEqual(find(readFileSync(sample, 'utf8')), [])
})

test('faults have path, line and the words of the service', () => {
  const text = `nam: 3
llms:
  primary: { provider: foo }
tools:
  - type: data_query
    name: s
    config: { tabls: 3 }
  - name: a b
  - { name: m, type: mcp, config: { effects: { x: maybe } } }
max_iterations: 0.5
workflow_type:
`
  assert.deepEqual(find(text), [
    [1, 'nam', 'is not a known field; known fields'],
    [3, 'llms.primary.model', 'is required but missing'],
    [3, 'llms.primary.provider', 'must be one of embedded, openai, a'],
    [7, 'tools[0].config.tables', 'is required but missing'],
    [7, 'tools[0].config.tabls', 'is not a known field; known fields'],
    [8, 'tools[1].name', 'must match ^[A-Za-z0-9][A-Za-z0-9_'],
    [9, 'tools[2].config.effects.x', 'must be one of read, write'],
    [10, 'max_iterations', 'must be a whole number, but is 0.5'],
    [11, 'workflow_type', 'must be one of react, plan_execute'],
  ])
})

test('a text that is not YAML has only that fault', () => {
  const [fault, ...others] = find('nam: [b\nc: d')
  assert.match(String(fault?.[2]), /^is not valid YAML/)
  assert.deepEqual(others, [])
})

test('aliases are followed, and deep or circular texts end', () => {
  assert.deepEqual(find('llms: { primary: &m { provider: embedded, model: x }, fallback: [*m] }'), [])
  assert.ok(find(`tools: &t [*t]\nname: ${'['.repeat(500)}${']'.repeat(500)}`).length > 0)
})

test('the place of a path is its key, or the nearest value around', () => {
  const text = 'tools:\n  - name: a\n    config: {}\n'
  const at = (path: (string | number)[]) => text.slice(...rangeAt(parseText(text), path))
  assert.equal(at(['tools', 0, 'config', 'url']), 'config')
  assert.equal(at(['tools', 0, 'name']), 'name')
})
