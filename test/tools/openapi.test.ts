import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startSite, type Site } from '../../src/tools/web/web-fixture.ts'
import type { ModelScript } from '../fixtures/model-server.ts'
import { scripted, startService, type TestService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'

/** A script of one call, and an answer with the result of the call. */
function calling(name: string, input: object): ModelScript {
  return ({ body }) => {
    const last = body.messages.at(-1)
    return last.role === 'tool' ? { text: `It says ${last.content}` } : { calls: [{ name, arguments: JSON.stringify(input) }] }
  }
}

/** The document of a public API: a server with variables, defaults of path parameters, a form. */
const dataSets = (origin: string) => `
openapi: 3.0.1
servers: [{url: '${origin}/{base}', variables: {base: {default: ds-api}}}]
info: {title: Data sets, version: 1.0.0}
paths:
  /{dataset}/{version}/fields:
    get:
      operationId: list-searchable-fields
      parameters:
        - {name: dataset, in: path, required: true, schema: {type: string}}
        - {name: version, in: path, required: true, schema: {type: string, default: v1}}
      responses: {'200': {description: found}}
  /{dataset}/{version}/records:
    post:
      operationId: perform-search
      parameters:
        - {name: dataset, in: path, required: true, schema: {type: string}}
        - {name: version, in: path, required: true, schema: {type: string, default: v1}}
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              properties: {criteria: {type: string, default: '*:*'}, rows: {type: integer, default: 100}}
              required: [criteria]
      responses: {'200': {description: found}}
`

async function writeSpec({ settings }: Pick<TestService, 'settings'>, text: string): Promise<void> {
  const file = path.join(path.dirname(settings.agentConfig), 'api.yaml')
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
}

async function readyTools(client: Client, prefix: string): Promise<any[]> {
  for (const end = Date.now() + 20_000; Date.now() < end; await wait(50)) {
    const { body } = await client.request('GET', '/core/v1/tools')
    const readyTools = body.tools.filter(
      (tool: { name: string; status: string }) => tool.name.startsWith(prefix) && tool.status === 'ready',
    )
    if (readyTools.length > 0) return readyTools
  }
  throw new Error(`There is no tool ${prefix} in time.`)
}

function startApi(t: Parameters<typeof startSite>[0]): Promise<Site> {
  return startSite(t, ({ method }, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(method === 'GET' ? ['title', 'year'] : { numFound: 3 }))
  })
}

/** A service with the document above as tool `sets`. The file is written before the second attempt to build the tool. */
async function startWithSets(t: Parameters<typeof startService>[0], script: ModelScript, site: Site, extra: object = {}) {
  const tool = { name: 'sets', type: 'openapi', config: { spec: 'api.yaml', headers: { 'x-own-key': '${SETS_KEY}' } }, ...extra }
  const service = await startService(t, { script, config: { tools: [tool] }, environment: { SETS_KEY: 'sets-secret' } })
  await writeSpec(service, dataSets(site.origin))
  return { service, tools: await readyTools(service.client, 'sets__') }
}

test('Tools: an operation of a document is called in a chat, with the context of the caller and the configured key', async (t) => {
  const site = await startApi(t)
  const { service, tools } = await startWithSets(t, calling('sets__list-searchable-fields', { dataset: 'oa_citations' }), site)
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['sets__list-searchable-fields', 'sets__perform-search'],
  )
  const { status, body } = await service.client.chat('Which fields?', { 'stix-user': 'ann' })
  assert.equal(status, 200)
  assert.match(body.body.output, /^It says .*"title","year"/)
  const [step] = body.body.intermediate_steps
  assert.deepEqual(
    { tool: step.tool, tool_input: step.tool_input, status: step.status },
    { tool: 'sets__list-searchable-fields', tool_input: { dataset: 'oa_citations' }, status: 'success' },
  )
  assert.deepEqual(step.output, { status: 200, content_type: 'application/json', body: ['title', 'year'] })
  const [request] = site.requests
  assert.deepEqual({ method: request?.method, url: request?.url }, { method: 'GET', url: '/ds-api/oa_citations/v1/fields' })
  assert.deepEqual([request?.headers['stix-user'], request?.headers['x-own-key']], ['ann', 'sets-secret'])
  assert.ok(!service.log.some((line) => line.includes('sets-secret')))
  assert.ok(!JSON.stringify(service.model.requests.map((request) => request.body)).includes('sets-secret'))
})

test('Tools: a write operation is sent once with its call id, and fails with a message for the model', async (t) => {
  const site = await startSite(t, (_, response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('come back later'))
  const { service } = await startWithSets(t, calling('sets__perform-search', { dataset: 'd/..', criteria: 'a b' }), site)
  const { body } = await service.client.chat('Search.')
  assert.match(body.body.output, /must not contain/)
  const executed = await service.client.request('POST', '/core/v1/tool/execute', {
    body: { tool_name: 'sets__perform-search', tool_input: { dataset: 'd', criteria: 'a b&c' } },
  })
  assert.equal(executed.body.status, 'error')
  assert.match(executed.body.output.error, /^POST \/\{dataset\}\/\{version\}\/records answered 503.\ncome back later$/)
  assert.equal(site.requests.length, 1)
  assert.equal(site.requests[0]?.body, 'criteria=a%20b%26c')
  assert.match(String(site.requests[0]?.headers['idempotency-key']), /^[0-9a-f-]{36}$/)
})

test('Tools: a call that needs approval is not sent before the approval', async (t) => {
  const site = await startApi(t)
  const { service } = await startWithSets(t, calling('sets__perform-search', { dataset: 'd', criteria: 'x' }), site, {
    approval: 'required',
  })
  const { status, body } = await service.client.chat('Search.', { 'request-id': 'r-1' })
  assert.equal(status, 202)
  assert.equal(site.requests.length, 0)
  const [call] = body.approval_required.calls
  const decided = await service.client.request('POST', '/core/v1/runs/r-1/approvals', {
    body: { tool_call_id: call.tool_call_id, decision: 'approve' },
  })
  assert.equal(decided.status, 200)
  for (const end = Date.now() + 10_000; site.requests.length === 0; await wait(20)) assert.ok(Date.now() < end)
  assert.equal(site.requests[0]?.url, '/ds-api/d/v1/records')
})

test('Tools: the service can use its own OpenAPI document as a tool, with an access key', async (t) => {
  const service = await startService(t, { script: calling('self__getSessions', { limit: 5 }), environment: { CONFIG_ENV: '' } })
  const { key } = await service.key({ sub: 'ann' })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const config = { spec: `${service.url}/openapi.json`, credentials: { key }, include: ['getSessions*', 'getTools'] }
  const changed = await admin.request('PUT', '/core/v1/agent/config', {
    body: {
      configuration: { llms: { primary: scripted(service.model) }, tools: [{ name: 'self', type: 'openapi', config }] },
      in_memory_only: true,
    },
  })
  assert.equal(changed.status, 200, changed.text)
  const tools = await readyTools(service.client, 'self__')
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['self__getSessions', 'self__getSessionsBySessionId', 'self__getTools'],
  )
  const { body } = await service.client.chat('Which sessions do I have?', { 'session-id': 'mine' })
  const [step] = body.body.intermediate_steps
  assert.equal(step.status, 'success', JSON.stringify(step))
  assert.equal(step.output.status, 200)
  assert.ok(!JSON.stringify(body).includes(key) && !service.log.some((line) => line.includes(key)))
  const configuration = await admin.request('GET', '/core/v1/agent/config')
  assert.deepEqual(configuration.body.configuration.tools[0].config.credentials, { key: '********' })
})
