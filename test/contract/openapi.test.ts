import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

interface Parameter {
  in: string
  name: string
  required: boolean
}

interface Operation {
  operationId?: string
  summary?: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: any }> }
  responses: Record<string, { description: string; headers?: object }>
}

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
      // Routes for OpenAI clients have no 422.
      for (const status of [413, 415, path.startsWith('/v1/') ? 400 : 422]) assert.ok(operation.responses[status], `${name} ${status}`)
  }
})

test('OpenAPI: the document requires no optional field', async (t) => {
  const { url } = await startService(t, { script: {} })
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, Record<string, Operation>> }
  const demanded = Object.values(paths).flatMap((of) =>
    Object.values(of).flatMap(({ parameters = [] }) => parameters.filter((one) => one.required)),
  )
  assert.deepEqual([...new Set(demanded.filter((one) => one.in !== 'path').map((one) => one.name))], ['session-id'])
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
    assert.deepEqual(content, { 'text/event-stream': { schema: { $ref: '#/components/schemas/StreamChunk' } } })
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
