import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { toJsonSchema } from './schema-walk.ts'
import { toolTypes } from './tool-types.ts'

const schema = toJsonSchema() as { $defs: Record<string, any> }

test('the published schema is valid, and describes each tool type with all fields', () => {
  const ajv = new Ajv2020({ strict: false })
  assert.equal(ajv.validateSchema(schema), true, JSON.stringify(ajv.errors))
  assert.deepEqual(
    Object.keys(schema.$defs),
    Object.keys(toolTypes).map((type) => `tool_${type}`),
  )
  for (const [name, { description, additionalProperties, properties }] of Object.entries(schema.$defs)) {
    assert.ok(description?.length > 10, name)
    // The settings of a provider's tool are open.
    if (name !== 'tool_provider') assert.equal(additionalProperties, false, name)
    assert.equal(typeof properties, 'object', name)
  }
})

test('every property of the published schema has a description that is a sentence', () => {
  const properties = [
    ...propertiesUnder(schema, []),
    ...Object.entries(schema.$defs).flatMap(([name, def]) => propertiesUnder(def, [name])),
  ]
  assert.ok(properties.length > 150)
  const faulty = properties.filter(({ description }) => !/^[\p{L}\d`].{10,}\.$/su.test(description ?? ''))
  assert.deepEqual(faulty, [], 'describe what the property does, its unit and its default in the schema')
})

test('the published schema accepts and refuses the same values as the service', () => {
  const validate = new Ajv2020({ strict: false }).compile(schema)
  const takes = (tool: object) => validate({ tools: [tool] })
  assert.ok(takes({ name: 'github', type: 'mcp', effect: 'read', approval: 'required', by: 'role', config: { url: 'https://a.example' } }))
  assert.ok(takes({ name: 'request', type: 'http_request', config: { headers: { '*.a.example': { authorization: 'x' } } } }))
  assert.ok(takes({ name: 'run_python', config: { memory_mb: 512 } }))
  assert.ok(!takes({ name: 'github', type: 'mcp', config: { uri: 'https://a.example' } }))
  assert.ok(!takes({ name: 'run_python', config: { memory_mb: 1 } }))
  assert.ok(!takes({ name: 'request', type: 'http_request', config: { allowed_hosts: ['https://a.example/'] } }))
  assert.ok(!takes({ name: 'a', approval: 'maybe' }))
  assert.ok(validate({ approvals: { effects: ['write'] } }) && !validate({ approvals: { effects: ['delete'] } }))
})

interface Property {
  path: string
  description?: string
}

function propertiesUnder(node: Record<string, any>, path: readonly string[]): Property[] {
  const values = [...(node['items'] ? [node['items']] : []), ...Object.values<any>(node['patternProperties'] ?? {})]
  const own = Object.entries<any>(node['properties'] ?? {}).flatMap(([name, property]) => [
    { path: [...path, name].join('.'), description: property.description },
    ...propertiesUnder(property, [...path, name]),
  ])
  return [...own, ...values.flatMap((value) => propertiesUnder(value, [...path, '*']))]
}
