import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

interface Operation {
  parameters?: { in: string; name: string; schema: { example?: string } }[]
  requestBody?: { content: Record<string, { schema: { $ref?: string; example?: object } }> }
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { example?: object }> }
}

const samples = new URL('../../samples/', import.meta.url).pathname

async function sampleFiles(): Promise<Record<string, Uint8Array>> {
  const root = path.join(samples, 'files')
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
  return Object.fromEntries(await Promise.all(names.map(async (name) => [path.relative(root, name), await readFile(name)] as const)))
}

test('OpenAPI: the sample agent answers the example of each body as it stands', async (t) => {
  const yaml = await readFile(path.join(samples, 'agent.yaml'), 'utf8')
  const service = await startService(t, { yaml, files: await sampleFiles() })
  const admin = await service.as({ roles: ['admin'] })
  const { paths, components } = (await admin.request('GET', '/openapi.json')).body as Document
  const run = await admin.chat('What is 2 + 2?')
  const tried: string[] = []
  for (const [template, operations] of Object.entries(paths)) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
        const example = schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)!]!.example : schema.example
        if (!example) continue
        const named = parameters.filter((parameter) => parameter.in === 'header' && parameter.schema.example !== undefined)
        const headers = { ...Object.fromEntries(named.map(({ name, schema }) => [name, schema.example!])), 'content-type': type }
        const place = template.replace('{request_id}', run.headers.get('request-id')!)
        const { status, text, body } = await admin.request(method.toUpperCase(), place, { body: example, headers })
        assert.ok(status < 300, `${method} ${template} ${type}: ${status} ${text}`)
        assert.equal(body?.error ?? undefined, undefined, text)
        tried.push(`${method} ${template} ${type}`)
      }
    }
  }
  assert.deepEqual(tried, [
    'post /core/v1/chain application/json',
    'post /core/v1/chain_streaming application/json',
    'post /core/v1/chain_async application/json',
    'post /core/v1/chain_async application/cloudevents+json',
    'post /core/v1/chain_async application/cloudevents-batch+json',
    'post /v1/chat/completions application/json',
    'post /v1/responses application/json',
    'post /core/v1/runs/{request_id}/feedback application/json',
    'post /core/v1/chain/sub_agents application/json',
    'post /core/v1/tool/execute application/json',
    'put /core/v1/agent/config application/json',
    'post /mcp application/json',
    'post /a2a application/json',
    'post /core/v1/keys application/json',
  ])
})
