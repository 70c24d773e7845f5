import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { env, execPath } from 'node:process'
import { test } from 'node:test'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import {
  operationsOf,
  optionalQueryOf,
  requestsOf,
  send,
  type DocumentedOperation,
  type DocumentedRequest,
  type OpenApiDocument,
  type Values,
} from '../fixtures/documented-operations.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { differencesOf, recordReply, replaceAllIn, type RecordedReplies } from '../fixtures/recorded-replies.ts'
import { startSampleService } from '../fixtures/sample-service.ts'
import { createClient, type Reply } from '../fixtures/service-client.ts'
import { configureEmbedding, preparations, type Surroundings } from './openapi-examples-setup.ts'

/**
 * Every example of the OpenAPI document is sent to the sample agent. With `RECORD=1` the replies become the examples of replies:
 * `RECORD=1 node --test test/contract/openapi-examples.test.ts`.
 */

const root = path.join(import.meta.dirname, '../..')
const repliesFile = path.join(root, 'src/http/openapi/reply-examples.json')
const mcpServer = path.join(root, 'test/fixtures/raw-mcp-server.ts')

/** Routes that the console calls without a key. */
const keyless = new Set(['postConsoleSession', 'deleteConsoleSession'])

test('OpenAPI: the sample agent answers every example of the document as it stands', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'examples-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const description = path.join(folder, 'description')
  await writeFile(description, 'The weather of a city.')
  const config = JSON.stringify({ command: execPath, args: [mcpServer, 'changes', description], pin: true })
  const receiver = await startReceiver(t, (_received, index) => (index === 0 ? 503 : 204))
  const service = await startSampleService(t, {
    tools: `  - { name: weather, type: mcp, config: ${config} }\n`,
    environment: {
      OUTBOUND_ALLOW: receiver.host,
      CALLBACK_RETRY_SECONDS: '3600',
      ARTIFACT_SHARE_DIR: path.join(folder, 'share'),
      // Nothing asks the provider: every key of this test is one of the service.
      ACCESS_JWKS_URL: 'https://id.example.com/keys',
      ACCESS_ISSUER: 'https://id.example.com',
      ACCESS_AUDIENCE: 'agents',
    },
  })
  await writeFile(description, 'The weather of a city, with a forecast.')
  await service.restart()

  const embedder = await startModelServer(({ body }) => {
    const data = body.input.map((_: string, index: number) => ({ index, embedding: [0.25, -0.5, 0.125] }))
    return { body: { data, usage: { prompt_tokens: 6 } } }
  })
  t.after(() => embedder.close())

  const replies: RecordedReplies = {}
  const record: Surroundings['record'] = (operationId, name, reply) => recordReply(replies, operationId, name, reply)
  const admin = await service.as({ sub: 'admin', roles: ['admin'] })
  const { key } = await service.key({ sub: 'admin', roles: ['admin'] })
  const visitor = createClient(service.url, undefined)
  const surroundings: Surroundings = { admin, url: service.url, key, receiver, embedder, record }
  const document = (await admin.request('GET', '/openapi.json')).body as OpenApiDocument
  const operations = operationsOf(document)

  async function attempt(operation: DocumentedOperation, request: DocumentedRequest, values?: Values): Promise<Reply> {
    const reply = await send(keyless.has(operation.operationId) ? visitor : admin, operation, request, values)
    const place = `${operation.operationId} ${request.type ?? ''} ${request.name}: ${reply.status} ${reply.text.slice(0, 500)}`
    assert.ok(reply.status < 300, place)
    assert.ok(operation.responses[reply.status], place)
    if (reply.body?.jsonrpc !== undefined) assert.equal(reply.body.error, undefined, place)
    return reply
  }

  await t.test('on the first click, where nothing has to exist before', async () => {
    for (const operation of operations.filter(({ operationId }) => !Object.hasOwn(preparations, operationId))) {
      for (const request of requestsOf(operation)) record(operation.operationId, request.name, await attempt(operation, request))
    }
  })
  const isDelete = ({ method }: DocumentedOperation) => method === 'DELETE'
  const prepared = operations.filter(({ operationId }) => Object.hasOwn(preparations, operationId))
  await t.test('with an id, where something has to exist', async () => {
    for (const operation of prepared.toSorted((a, b) => Number(isDelete(a)) - Number(isDelete(b)))) {
      for (const request of requestsOf(operation)) {
        const values = await preparations[operation.operationId]!(surroundings)
        const decision = (request.body as { decision?: string } | undefined)?.decision
        const body = decision === 'reject' ? { ...(request.body as object), tool_call_id: (values.body as any).tool_call_id } : values.body
        record(operation.operationId, request.name, await attempt(operation, request, { ...values, body }))
      }
    }
  })
  await configureEmbedding(admin, null)
  await t.test('with each optional parameter', async () => {
    await preparations['postRunsByRequestIdApprovals']!(surroundings)
    for (const operation of operations.filter(({ method, operationId }) => method === 'GET' && !Object.hasOwn(preparations, operationId))) {
      const [request] = requestsOf(operation) as [DocumentedRequest]
      const reply = await attempt(operation, request)
      record(operation.operationId, 'reply', reply)
      await attempt(operation, request, { query: optionalQueryOf(operation) })
      const lastSession = reply.body?.sessions?.at(-1)?.session_id
      const offset = lastSession ?? reply.body?.offset
      if (offset) await attempt(operation, request, { query: { before: String(offset) } })
    }
  })
  await t.test('errors: without a key, with an unknown id, with an empty body', async () => {
    for (const operation of operations) {
      const [request] = requestsOf(operation) as [DocumentedRequest]
      const keep = (name: string, statuses: number[], reply: Reply) => {
        if (statuses.includes(reply.status)) record(operation.operationId, name, reply)
      }
      keep('refused', [401, 403], await send(visitor, operation, request))
      if (Object.hasOwn(preparations, operation.operationId)) keep('unknown', [404], await send(admin, operation, request))
      if (request.body !== undefined) keep('faulty', [400, 422], await send(admin, operation, request, { body: {} }))
    }
  })
  const shown = replaceAllIn(replies, [
    [service.url, 'http://127.0.0.1:8080'],
    [receiver.url, 'https://hooks.example.com/results'],
    [path.dirname(service.settings.agentConfig), '/srv/agent-core'],
    [folder, '/srv/agent-core'],
    [`"${hostname()}"`, '"agent-core-0"'],
    [execPath, 'node'],
    [mcpServer, 'weather-server.ts'],
  ])
  if (env['RECORD']) await writeFile(repliesFile, `${JSON.stringify(shown, undefined, 2)}\n`)
  await t.test('as the document shows the replies', async () => {
    const recorded = JSON.parse(await readFile(repliesFile, 'utf8')) as RecordedReplies
    assert.deepEqual(differencesOf(recorded, shown), [], 'RECORD=1 node --test test/contract/openapi-examples.test.ts writes them again')
  })
})
