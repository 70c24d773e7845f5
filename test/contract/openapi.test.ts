import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

interface Parameter {
  in: string
  name: string
  required: boolean
  description?: string
  example?: unknown
  schema: { examples?: unknown[] }
}

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: any; examples?: object }> }
  responses: Record<string, { description: string; headers?: object }>
}

/** Routes for OpenAI and A2A clients have no 422. */
const refusalStatus = (path: string) => (/^\/(a2a\/)?v1\//.test(path) ? 400 : 422)

/** Whether some text does not fit the schema of a parameter. */
const isLimited = (schema: Record<string, unknown>) =>
  schema['type'] !== 'string' || ['pattern', 'enum', 'minLength', 'maxLength', 'format'].some((rule) => rule in schema)

// That replies are as the document says is checked with every reply that any test gets: `openapi-check.ts`.

test('OpenAPI: each operation documents its input and its errors', async (t) => {
  const { url } = await startService(t, { script: {} })
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    openapi: string
    paths: Record<string, Record<string, Operation>>
  }
  assert.match(document.openapi, /^3\.1/)
  const operations = Object.entries(document.paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
  )
  const ids = operations.flatMap(({ operation }) => operation.operationId ?? [])
  assert.equal(new Set(ids).size, ids.length)
  for (const { name, path, method, operation } of operations) {
    const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path').map((one) => one.name)
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter),
      name,
    )
    assert.ok(operation.summary, name)
    assert.ok(Object.keys(operation.responses).length > 0, name)
    for (const response of Object.values(operation.responses)) assert.ok(response.description && response.headers, name)
    if (method === 'post' || method === 'put')
      for (const status of [413, 415, refusalStatus(path)]) assert.ok(operation.responses[status], `${name} ${status}`)
    const canBeWrong = (operation.parameters ?? []).some(({ in: place, schema }) => place !== 'header' && isLimited(schema))
    if (canBeWrong) assert.ok(operation.responses[refusalStatus(path)], `${name}: its parameters are checked, so it documents the refusal`)
  }
})

test('OpenAPI: each operation is described, with examples of its parameters and its body', async (t) => {
  const { url } = await startService(t, { script: {} })
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    tags: { name: string; description: string }[]
    servers: { url: string }[]
    paths: Record<string, Record<string, Operation>>
  }
  assert.deepEqual(document.servers[0]!.url, '.')
  const tags = new Set(document.tags.map(({ name }) => name))
  const operations = Object.values(document.paths).flatMap((of) => Object.values(of))
  for (const { operationId, description, parameters = [], requestBody, tags: own = [] } of operations) {
    assert.ok(operationId && description && own.length === 1 && tags.has(own[0]!), operationId)
    for (const { name, description: meaning, example, schema } of parameters)
      assert.ok(meaning && (example ?? schema.examples?.[0]) !== undefined, `${operationId} ${name}`)
    for (const { examples } of Object.values(requestBody?.content ?? {})) assert.ok(Object.keys(examples ?? {}).length > 0, operationId)
  }
  assert.deepEqual([...new Set(operations.flatMap(({ tags: own = [] }) => own))].toSorted(), [...tags].toSorted())
})

test('OpenAPI: the document requires no optional field', async (t) => {
  const { url } = await startService(t, { script: {} })
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, Record<string, Operation>> }
  const demanded = Object.values(paths).flatMap((of) =>
    Object.values(of).flatMap(({ parameters = [] }) => parameters.filter((one) => one.required)),
  )
  const names = new Set(demanded.filter((one) => one.in !== 'path').map((one) => one.name))
  // A signed link is used as it is; keys are never revoked without the name of their creator.
  assert.deepEqual([...names].toSorted(), ['created_by', 'expires', 'name', 'session-id', 'signature', 'type'])
  assert.deepEqual(paths['/core/v1/chain/sub_agents']!['post']!.requestBody!.content['application/json']!.schema.required, ['name'])
})

test('OpenAPI: shared schemas are named, and every reference resolves', async (t) => {
  const { url } = await startService(t, { script: {} })
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const { components } = JSON.parse(text) as { components: Record<string, object> }
  const references = new Set([...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind, name]) => `${kind} ${name}`))
  for (const name of ['schemas Error', 'schemas ValidationError', 'schemas ChatRequest', 'headers request-id'])
    assert.ok(references.has(name), name)
  for (const reference of references) {
    const [kind, name] = reference.split(' ') as [string, string]
    assert.ok(Object.hasOwn(components[kind]!, name), reference)
  }
  assert.ok('StreamChunk' in components['schemas']!)
})

test('OpenAPI: a stream is described by the schema of its events', async (t) => {
  const { url } = await startService(t, { script: {} })
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, Record<string, any>> }
  for (const [path, method] of [
    ['/core/v1/chain_streaming', 'post'],
    ['/core/v1/runs/{request_id}/stream', 'get'],
  ] as const) {
    const { content, description } = paths[path]![method].responses[200]
    assert.deepEqual(Object.keys(content), ['text/event-stream'])
    assert.deepEqual(content['text/event-stream'].schema, { $ref: '#/components/schemas/StreamChunk' })
    assert.deepEqual(Object.keys(content['text/event-stream'].examples), ['tool-begins', 'tool-ends', 'answer', 'last-chunk'])
    assert.match(description, /`id: <request id>:<number>`/)
  }
  assert.equal(paths['/v1/chat/completions']!['post'].responses[200].content['text/event-stream'].schema.type, 'object')
})

test('OpenAPI: each named schema is used, whatever the plugin converts', async (t) => {
  const { url } = await startService(t, { script: {} })
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const { components } = JSON.parse(text) as { components: { schemas: Record<string, object> } }
  const unused = Object.keys(components.schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`))
  assert.deepEqual(unused, [])
})

test('OpenAPI: no pattern of the document uses lookaround, which some engines lack', async (t) => {
  const { client } = await startService(t, { script: {} })
  const { text } = await client.request('GET', '/openapi.json')
  assert.doesNotMatch(text, /"pattern":"[^"]*\(\?(?:[=!]|<[=!])/)
})
