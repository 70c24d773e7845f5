import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { permissions } from '../../src/access/permissions.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const routes = [
  ['POST', '/core/v1/chain', 'chat'],
  ['POST', '/core/v1/chain_streaming', 'chat'],
  ['POST', '/core/v1/chain_async', 'chat'],
  ['GET', '/core/v1/context_files', 'chat'],
  ['POST', '/core/v1/context_files', 'chat'],
  ['GET', '/core/v1/knowledge', 'knowledge.read'],
  ['POST', '/core/v1/knowledge', 'knowledge.write'],
  ['GET', '/core/v1/knowledge/{document_id}', 'knowledge.read'],
  ['DELETE', '/core/v1/knowledge/{document_id}', 'knowledge.write'],
  ['GET', '/core/v1/sessions', 'sessions.read'],
  ['POST', '/core/v1/sessions', 'chat'],
  ['GET', '/core/v1/sessions/{session_id}', 'sessions.read'],
  ['DELETE', '/core/v1/sessions/{session_id}', 'sessions.write'],
  ['POST', '/core/v1/sessions/{session_id}/fork', 'sessions.write'],
  ['GET', '/core/v1/runs', 'runs.read'],
  ['GET', '/core/v1/callbacks', 'runs.read'],
  ['GET', '/core/v1/runs/{request_id}', 'runs.read'],
  ['GET', '/core/v1/runs/{request_id}/stream', 'runs.read'],
  ['GET', '/core/v1/runs/{request_id}/trace', 'runs.read'],
  ['DELETE', '/core/v1/runs/{request_id}', 'runs.write'],
  ['POST', '/core/v1/runs/{request_id}/callback', 'runs.write'],
  ['POST', '/core/v1/runs/{request_id}/feedback', 'runs.write'],
  ['POST', '/core/v1/runs/{request_id}/approvals', 'chat', 'runs.write', 'runs.approve', 'budgets.write'],
  ['POST', '/core/v1/runs/{request_id}/messages', 'chat'],
  ['GET', '/core/v1/runs/{request_id}/messages', 'runs.read'],
  ['GET', '/core/v1/approvals', 'runs.read', 'runs.write', 'runs.approve', 'budgets.write'],
  ['GET', '/core/v1/budgets', 'runs.read'],
  ['PUT', '/core/v1/budgets/{name}/override', 'budgets.write'],
  ['DELETE', '/core/v1/budgets/{name}/override', 'budgets.write'],
  ['GET', '/core/v1/datasets', 'evals.read'],
  ['POST', '/core/v1/datasets', 'evals.write'],
  ['GET', '/core/v1/datasets/{id}', 'evals.read'],
  ['PATCH', '/core/v1/datasets/{id}', 'evals.write'],
  ['DELETE', '/core/v1/datasets/{id}', 'evals.write'],
  ['GET', '/core/v1/datasets/{id}/examples', 'evals.read'],
  ['POST', '/core/v1/datasets/{id}/examples', 'evals.write'],
  ['GET', '/core/v1/datasets/{id}/examples/{example_id}', 'evals.read'],
  ['PATCH', '/core/v1/datasets/{id}/examples/{example_id}', 'evals.write'],
  ['DELETE', '/core/v1/datasets/{id}/examples/{example_id}', 'evals.write'],
  ['GET', '/core/v1/experiments', 'evals.read'],
  ['POST', '/core/v1/experiments', 'evals.write'],
  ['GET', '/core/v1/experiments/{id}', 'evals.read'],
  ['DELETE', '/core/v1/experiments/{id}', 'evals.write'],
  ['GET', '/core/v1/experiments/{id}/results', 'evals.read'],
  ['GET', '/core/v1/experiments/{id}/results/{example_id}', 'evals.read'],
  ['GET', '/core/v1/schedules', 'schedules.read'],
  ['POST', '/core/v1/schedules', 'schedules.write'],
  ['POST', '/core/v1/schedules/preview', 'schedules.read'],
  ['GET', '/core/v1/schedules/{id}', 'schedules.read'],
  ['PATCH', '/core/v1/schedules/{id}', 'schedules.write'],
  ['DELETE', '/core/v1/schedules/{id}', 'schedules.write'],
  ['POST', '/core/v1/schedules/{id}/pause', 'schedules.write'],
  ['POST', '/core/v1/schedules/{id}/resume', 'schedules.write'],
  ['POST', '/core/v1/schedules/{id}/trigger', 'schedules.write'],
  ['GET', '/core/v1/schedules/{id}/fires', 'schedules.read'],
  ['GET', '/core/v1/tools', 'tools.read'],
  ['POST', '/core/v1/tool/execute', 'tools.execute'],
  ['GET', '/core/v1/tools/changed', 'config.read'],
  ['POST', '/core/v1/tools/{name}/accept', 'config.write'],
  ['GET', '/core/v1/chain/sub_agents', 'sub_agents.read'],
  ['GET', '/core/v1/chain/sub_agents/{sub_agent_id}', 'sub_agents.read'],
  ['POST', '/core/v1/chain/sub_agents', 'sub_agents.write'],
  ['DELETE', '/core/v1/chain/sub_agents/{sub_agent_id}', 'sub_agents.write'],
  ['GET', '/core/v1/artifacts', 'artifacts.read'],
  ['GET', '/core/v1/artifacts/{artifact_id}/content', 'artifacts.read'],
  ['GET', '/core/v1/download_artifact/{message_index}/{artifact_index}', 'artifacts.read'],
  ['POST', '/core/v1/share_agent_artifact', 'artifacts.share'],
  ['GET', '/core/v1/memories', 'memories.read'],
  ['DELETE', '/core/v1/memories/{id}', 'memories.write'],
  ['GET', '/core/v1/metadata', 'metadata.read'],
  ['GET', '/core/v1/agent/models', 'metadata.read'],
  ['GET', '/core/v1/metrics', 'observability.read'],
  ['GET', '/core/v1/metrics/tools', 'observability.read'],
  ['GET', '/core/v1/metrics/series', 'observability.read'],
  ['GET', '/core/v1/logs', 'observability.read'],
  ['GET', '/metrics', 'observability.read'],
  ['GET', '/core/v1/status', 'observability.read'],
  ['GET', '/core/v1/agent/config', 'config.read'],
  ['PUT', '/core/v1/agent/config', 'config.write'],
  ['GET', '/core/v1/agent/config/history', 'config.read'],
  ['GET', '/core/v1/agent/config/history/{version}', 'config.read'],
  ['POST', '/core/v1/agent/config/restore', 'config.write'],
  ['GET', '/core/v1/me', 'any_key'],
  ['GET', '/core/v1/roles', 'any_key'],
  ['POST', '/console/code', 'any_key'],
  ['GET', '/core/v1/keys', 'keys.manage'],
  ['POST', '/core/v1/keys', 'keys.manage'],
  ['DELETE', '/core/v1/keys', 'keys.manage'],
  ['DELETE', '/core/v1/keys/{jti}', 'keys.manage'],
  ['GET', '/core/v1/audit', 'audit.read'],
  ['GET', '/core/v1/audit/export', 'audit.read'],
  ['GET', '/core/v1/audit/heads', 'audit.read'],
  ['POST', '/mcp', 'chat'],
  ['POST', '/a2a', 'chat'],
  ['POST', '/ag-ui', 'chat'],
  ['POST', '/ui/chat', 'chat'],
  ['GET', '/ui/chat/{id}/stream', 'runs.read'],
] as const

/** Paths whose errors are `google.rpc.Status`. */
const a2aRoutes = [
  ['POST', '/a2a/v1/message:send', 'chat'],
  ['POST', '/a2a/v1/message:stream', 'chat'],
  ['GET', '/a2a/v1/tasks', 'runs.read'],
  ['GET', '/a2a/v1/tasks/{id}', 'runs.read'],
  ['POST', '/a2a/v1/tasks/{id}:cancel', 'runs.write'],
  ['POST', '/a2a/v1/tasks/{id}:subscribe', 'runs.read'],
  ['GET', '/a2a/v1/tasks/{id}:subscribe', 'runs.read'],
  ['POST', '/a2a/v1/tasks/{id}/pushNotificationConfigs', 'runs.write'],
  ['GET', '/a2a/v1/tasks/{id}/pushNotificationConfigs', 'runs.read'],
  ['GET', '/a2a/v1/tasks/{id}/pushNotificationConfigs/{configId}', 'runs.read'],
  ['DELETE', '/a2a/v1/tasks/{id}/pushNotificationConfigs/{configId}', 'runs.write'],
  ['GET', '/a2a/v1/extendedAgentCard', 'any_key'],
] as const

/** Paths whose errors have the shape of OpenAI's API. */
const openAiRoutes = [
  ['GET', '/v1/models', 'chat'],
  ['GET', '/v1/models/{model}', 'chat'],
  ['POST', '/v1/chat/completions', 'chat'],
  ['POST', '/v1/messages', 'chat'],
  ['POST', '/v1/messages/count_tokens', 'chat'],
  ['POST', '/v1/embeddings', 'chat'],
  ['POST', '/v1/responses', 'chat'],
  ['POST', '/v1/responses/input_tokens', 'chat'],
  ['POST', '/v1/responses/compact', 'chat'],
  ['GET', '/v1/responses/{response_id}', 'runs.read'],
  ['DELETE', '/v1/responses/{response_id}', 'sessions.write'],
  ['POST', '/v1/responses/{response_id}/cancel', 'runs.write'],
  ['GET', '/v1/responses/{response_id}/input_items', 'runs.read'],
  ['POST', '/v1/conversations', 'sessions.write'],
  ['GET', '/v1/conversations/{conversation_id}', 'sessions.read'],
  ['POST', '/v1/conversations/{conversation_id}', 'sessions.write'],
  ['DELETE', '/v1/conversations/{conversation_id}', 'sessions.write'],
  ['GET', '/v1/conversations/{conversation_id}/items', 'sessions.read'],
  ['POST', '/v1/conversations/{conversation_id}/items', 'sessions.write'],
  ['GET', '/v1/conversations/{conversation_id}/items/{item_id}', 'sessions.read'],
  ['DELETE', '/v1/conversations/{conversation_id}/items/{item_id}', 'sessions.write'],
  ['POST', '/v1/files', 'chat'],
  ['GET', '/v1/files', 'chat'],
  ['GET', '/v1/files/{file_id}', 'chat'],
  ['GET', '/v1/files/{file_id}/content', 'chat'],
  ['DELETE', '/v1/files/{file_id}', 'chat'],
] as const

/** Paths whose errors have the shape of LangGraph's Agent Server. */
const langGraphRoutes = [
  ['POST', '/langgraph/assistants/search', 'metadata.read'],
  ['POST', '/langgraph/assistants/count', 'metadata.read'],
  ['GET', '/langgraph/assistants/{assistant_id}', 'metadata.read'],
  ['GET', '/langgraph/assistants/{assistant_id}/schemas', 'metadata.read'],
  ['GET', '/langgraph/assistants/{assistant_id}/graph', 'metadata.read'],
  ['POST', '/langgraph/threads', 'sessions.write'],
  ['POST', '/langgraph/threads/search', 'sessions.read'],
  ['POST', '/langgraph/threads/count', 'sessions.read'],
  ['GET', '/langgraph/threads/{thread_id}', 'sessions.read'],
  ['PATCH', '/langgraph/threads/{thread_id}', 'sessions.write'],
  ['DELETE', '/langgraph/threads/{thread_id}', 'sessions.write'],
  ['POST', '/langgraph/threads/{thread_id}/copy', 'sessions.write'],
  ['GET', '/langgraph/threads/{thread_id}/state', 'sessions.read'],
  ['POST', '/langgraph/threads/{thread_id}/state', 'sessions.write'],
  ['GET', '/langgraph/threads/{thread_id}/state/{checkpoint_id}', 'sessions.read'],
  ['POST', '/langgraph/threads/{thread_id}/state/checkpoint', 'sessions.read'],
  ['GET', '/langgraph/threads/{thread_id}/history', 'sessions.read'],
  ['POST', '/langgraph/threads/{thread_id}/history', 'sessions.read'],
  ['POST', '/langgraph/threads/{thread_id}/runs', 'chat'],
  ['POST', '/langgraph/threads/{thread_id}/runs/stream', 'chat'],
  ['POST', '/langgraph/threads/{thread_id}/runs/wait', 'chat'],
  ['POST', '/langgraph/runs/stream', 'chat'],
  ['POST', '/langgraph/runs/wait', 'chat'],
  ['GET', '/langgraph/threads/{thread_id}/runs', 'runs.read'],
  ['GET', '/langgraph/threads/{thread_id}/runs/{run_id}', 'runs.read'],
  ['GET', '/langgraph/threads/{thread_id}/runs/{run_id}/join', 'runs.read'],
  ['GET', '/langgraph/threads/{thread_id}/runs/{run_id}/stream', 'runs.read'],
  ['GET', '/langgraph/runs/{run_id}/stream', 'runs.read'],
  ['POST', '/langgraph/threads/{thread_id}/runs/{run_id}/cancel', 'runs.write'],
  ['POST', '/langgraph/runs/cancel', 'runs.write'],
] as const

const publicRoutes = [
  '/.well-known/agent-card.json',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/console/session',
  '/console/sign-in-options',
  '/core/v1/agent/config/schema',
  '/core/v1/artifacts/{folder}/{id}',
  '/health',
  '/health/ready',
  '/langgraph/info',
  '/langgraph/ok',
  '/openapi.json',
]

/** Roles that grant a permission, as in the contract. */
function rolesWith(permission: string): string[] {
  const isOperators = ['observability.read', 'config.read', 'evals.read'].includes(permission)
  if (isOperators) return ['operator', 'admin']
  if (permission === 'audit.read') return ['auditor', 'admin']
  if (permission.endsWith('.read')) return ['viewer', 'user', 'operator', 'admin']
  if (permission === 'any_key') return ['viewer', 'user', 'operator', 'admin', 'auditor']
  return ['config.write', 'keys.manage', 'knowledge.write', 'budgets.write', 'evals.write'].includes(permission)
    ? ['admin']
    : ['user', 'admin']
}

/** Paths with placeholder ids that do not exist. */
const addressOf = (path: string) => path.replace(/\{\w+_index\}/g, '0').replace(/\{\w+\}/g, 'none')

test('Access: every operation is 401 without a key, and 403 naming the permission without the role', async (t) => {
  const { url, as } = await startService(t, { script: {} })
  const nobody = createClient(url, '')
  const powerless = await as({ roles: ['unknown-role', 'constructor'] })
  for (const [method, described, permission] of routes) {
    const path = addressOf(described)
    const keyless = await nobody.request(method, path)
    assert.deepEqual({ status: keyless.status, status_code: keyless.body.status_code }, { status: 401, status_code: 401 }, path)
    assert.match(keyless.body.body, /^JWT verification failed/)
    const refused = await powerless.request(method, path)
    if (permission === 'any_key') {
      assert.ok(refused.status < 300, path)
      continue
    }
    assert.deepEqual({ status: refused.status, status_code: refused.body.status_code }, { status: 403, status_code: 403 }, path)
    assert.match(refused.body.body, /^RBAC: access denied/)
    assert.ok(refused.body.body.includes(permission), refused.body.body)
  }
})

test('Access: health, the OpenAPI document and its page need no key', async (t) => {
  const { url } = await startService(t, { script: {} })
  const health = await fetch(`${url}/health`)
  assert.deepEqual({ status: health.status, json: await health.json() }, { status: 200, json: {} })
  for (const path of ['/health/ready', '/openapi.json', '/docs/api/']) assert.equal((await fetch(url + path)).status, 200, path)
})

test('Access: every operation of the OpenAPI document needs the permission of its role, and no other is open', async (t) => {
  const { url, as } = await startService(t, { script: {} })
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, Record<string, { security?: object[] }>> }
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      isPublic: security?.length === 0,
    })),
  )
  const open = described.filter(({ isPublic }) => isPublic).map(({ path }) => path)
  assert.deepEqual([...new Set(open)].toSorted(), publicRoutes)
  const closed = described.filter(({ isPublic }) => !isPublic).map(({ name }) => name)
  const all = [...routes, ...openAiRoutes, ...a2aRoutes, ...langGraphRoutes]
  assert.deepEqual(closed.toSorted(), all.map(([method, path]) => `${method} ${path}`).toSorted())
  for (const role of ['viewer', 'user', 'operator', 'admin', 'auditor']) {
    const client = await as({ sub: role, roles: [role] })
    for (const [method, path, permission] of all) {
      const { status, text } = await client.request(method, addressOf(path))
      const place = `${role} ${method} ${path}: ${status} ${text}`
      assert.equal(status !== 403, rolesWith(permission).includes(role), place)
      assert.ok(status < 500 && status !== 401, place)
    }
  }
})

test('Access: a route accepts exactly the permissions that the table lists for it', async (t) => {
  const roles = Object.fromEntries(permissions.map((permission) => [permission, [permission]]))
  const { as } = await startService(t, { script: {}, config: { access: { roles } } })
  for (const permission of permissions) {
    const client = await as({ sub: permission, roles: [permission] })
    for (const [method, path, ...sufficient] of [...routes, ...openAiRoutes, ...a2aRoutes, ...langGraphRoutes]) {
      const { status, text } = await client.request(method, addressOf(path))
      const place = `${permission} ${method} ${path}: ${status} ${text}`
      assert.equal(
        status !== 403,
        sufficient.some((name) => name === permission || name === 'any_key'),
        place,
      )
      assert.ok(status < 500 && status !== 401, place)
    }
  }
})

test('Access: a malformed, forged, truncated, foreign or expired key is 401', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const other = await startService(t, { script: {} })
  const { key: good } = await key()
  const [head, body, signature] = good.split('.') as [string, string, string]
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
  const raised = Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), roles: ['admin'] })).toString(
    'base64url',
  )
  const bad = ['garbage', 'a.b.c', `${head}.${raised}.${signature}`, `${head}.${body}`, `${unsigned}.${body}.`, (await other.key()).key]
  for (const one of [...bad, 'x'.repeat(12_000)]) {
    const { status, body: reply } = await createClient(url, one).request('GET', '/core/v1/tools')
    assert.equal(status, 401, one.slice(0, 80))
    assert.match(reply.body, /^JWT verification failed/)
  }
  // The verifier cache must not keep an expired key valid.
  const { key: expiring } = await key({ expiresInSeconds: 2 })
  const expiresAt = Math.floor(Date.now() / 1000) * 1000 + 3000
  const expiringClient = createClient(url, expiring)
  assert.equal((await expiringClient.request('GET', '/core/v1/tools')).status, 200)
  await sleep(expiresAt - Date.now())
  const expired = await expiringClient.request('GET', '/core/v1/tools')
  assert.equal(expired.status, 401)
  assert.match(expired.body.body, /expired/)
})

test('Access: a revoked key stops working within 5 s', async (t) => {
  const { url, key, revoke } = await startService(t, { script: {} })
  const { key: good, claims } = await key()
  const client = createClient(url, good)
  assert.equal((await client.request('GET', '/core/v1/tools')).status, 200)
  await revoke(claims)
  const until = Date.now() + 5000
  let status = 200
  while (status === 200 && Date.now() < until) {
    await sleep(50)
    status = (await client.request('GET', '/core/v1/tools')).status
  }
  assert.equal(status, 401)
})

test('Access: authorization Bearer is accepted in place of the header', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: good } = await key()
  for (const authorization of [`Bearer ${good}`, `bearer ${good}`]) {
    assert.equal((await fetch(`${url}/core/v1/tools`, { headers: { authorization } })).status, 200)
  }
  assert.equal((await fetch(`${url}/core/v1/tools`, { headers: { authorization: `Basic ${good}` } })).status, 401)
})

test('Access: viewers and operators read but do not chat, execute or cancel; users do', async (t) => {
  const { as } = await startService(t, { script: {}, config: { tools: [{ name: 'calculator' }] } })
  const execute = { tool_name: 'calculator', tool_input: { expression: '1' } }
  for (const [role, may] of [
    ['viewer', false],
    ['operator', false],
    ['user', true],
    ['admin', true],
  ] as const) {
    const client = await as({ sub: role, roles: [role] })
    assert.equal((await client.request('GET', '/core/v1/sessions')).status, 200)
    assert.equal((await client.request('GET', '/core/v1/metadata')).status, 200)
    assert.equal((await client.chat('hello')).status, may ? 200 : 403, role)
    assert.equal((await client.request('POST', '/core/v1/tool/execute', { body: execute })).status, may ? 200 : 403, role)
    assert.equal((await client.request('DELETE', '/core/v1/runs/nothing')).status, may ? 404 : 403, role)
  }
})

test('Access: roles of the configuration grant their listed permissions', async (t) => {
  const { as } = await startService(t, { script: {}, config: { access: { roles: { talker: ['chat'] } } } })
  const talker = await as({ roles: ['talker'] })
  assert.equal((await talker.chat('hello')).status, 200)
  assert.equal((await talker.request('GET', '/core/v1/sessions')).status, 403)
})

test('Access: checks run in the order route, key, permission, content type and size, validation', async (t) => {
  const { url, as, client } = await startService(t, { script: {}, environment: { HTTP_BODY_LIMIT: '1kb' } })
  const nobody = createClient(url, 'garbage')
  const viewer = await as({ roles: ['viewer'] })
  const large = 'x'.repeat(4000)
  const xml = { 'content-type': 'application/xml' }
  const wrongId = { 'session-id': '-' }
  assert.equal((await nobody.request('POST', '/core/v1/nothing', { body: large, headers: xml })).status, 404)
  assert.equal((await nobody.request('PUT', '/core/v1/chain', { body: large, headers: xml })).status, 405)
  assert.equal((await nobody.request('POST', '/core/v1/chain', { body: large, headers: xml })).status, 401)
  assert.equal((await viewer.request('POST', '/core/v1/chain', { body: large, headers: { ...xml, ...wrongId } })).status, 403)
  assert.equal((await viewer.request('POST', '/core/v1/chain', { body: '{' })).status, 403)
  assert.equal((await client.request('POST', '/core/v1/chain', { body: 'x', headers: { ...xml, ...wrongId } })).status, 415)
  assert.equal((await client.request('POST', '/core/v1/chain', { body: large, headers: wrongId })).status, 413)
  assert.equal((await client.request('POST', '/core/v1/chain', { body: '{}', headers: wrongId })).status, 422)
})

test('Access: a refusal comes before the body is read', async (t) => {
  const { url } = await startService(t, { script: {} })
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const headers = { 'content-type': 'application/json', 'content-length': '1000000' }
  const request = httpRequest(`${url}/core/v1/chain`, { method: 'POST', headers, agent: false }, (response) => resolve(response.statusCode))
  request.on('error', reject)
  request.write('{')
  assert.equal(await promise, 401)
  request.destroy()
})
