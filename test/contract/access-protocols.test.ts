import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { permissions, type Permission } from '../../src/access/permissions.ts'
import { callsIn, sending, sendTo } from '../fixtures/approvals.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

/** Roles by name; each grants the permissions in its name. */
const roleOf = (granted: readonly Permission[]) => granted.join(':')

const chatAnd = permissions.filter((permission) => permission !== 'chat').map((permission): Permission[] => ['chat', permission])
const sets: Permission[][] = [
  ...permissions.map((permission) => [permission]),
  ...chatAnd,
  ['chat', 'runs.read', 'artifacts.read'],
  ['chat', 'tools.execute', 'artifacts.read'],
]
const roles = Object.fromEntries(sets.map((granted) => [roleOf(granted), granted]))

const drawing = fakeTool('drawing', async (_input, context) => {
  await context.artifact('plan.svg', 'image/svg+xml', Buffer.from('<svg/>'))
  return 'drawn'
})

/** Texts that appear only in the answer of a run and only in a link. */
const answer = 'The treasure is in Atlantis.'
const linkPath = '/core/v1/artifacts/'

const rpc = (client: Client, path: '/a2a' | '/mcp', method: string, params: object): Promise<Reply> =>
  client.request('POST', path, {
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: path === '/a2a' ? { 'a2a-version': '1.0' } : { accept: 'application/json, text/event-stream' },
  })

const callTool = (client: Client, name: string) => rpc(client, '/mcp', 'tools/call', { name, arguments: {} })

/** The same caller with another key. */
const withOnly = (service: TestService, ...granted: Permission[]) => service.as({ sub: 'ann', roles: [roleOf(granted)] })

const sayOf = (text: string, taskId: string) => ({ message: { messageId: 'm1', role: 'ROLE_USER', taskId, parts: [{ text }] } })

async function start(t: TestContext) {
  const service = await startService(t, { tools: [drawing], config: { access: { roles } }, script: [callOf('drawing'), { text: answer }] })
  const asked = await service.client.chat('Draw.', { 'request-id': 'r1', 'session-id': 's1' })
  assert.equal(asked.body.body.output, answer)
  return service
}

test('Access: every protocol that reads answers needs the permissions for their content', async (t) => {
  const service = await start(t)
  const reads = [
    ...['/runs/r1', '/runs/r1/stream', '/sessions', '/sessions/s1', '/approvals', '/tools', '/memories', '/metadata', '/metrics'],
    ...['/logs', '/agent/config', '/chain/sub_agents', '/download_artifact/1/0'],
  ]
  const methods = ['GetTask', 'SubscribeToTask', 'CancelTask', 'ListTasks']
  for (const granted of sets) {
    const client = await withOnly(service, ...granted)
    const replies = [
      ...(await Promise.all(reads.map((path) => client.request('GET', `/core/v1${path}`, { headers: { 'session-id': 's1' } })))),
      ...(await Promise.all(methods.map((method) => rpc(client, '/a2a', method, { id: 'r1' })))),
      await rpc(client, '/mcp', 'tools/list', {}),
      await callTool(client, 'drawing'),
      await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'drawing' } }),
      await client.request('DELETE', '/core/v1/runs/r1'),
    ]
    const text = replies.map((reply) => reply.text).join('\n')
    const may = (...any: Permission[]) => any.some((permission) => granted.includes(permission))
    assert.equal(text.includes(answer), may('runs.read', 'sessions.read'), `the answer: ${roleOf(granted)}`)
    assert.equal(text.includes(linkPath), may('artifacts.read'), `a link: ${roleOf(granted)}`)
    assert.equal(text.includes('"drawn"') || text.includes('drawn'), may('runs.read', 'sessions.read', 'tools.execute'), roleOf(granted))
  }
})

test('Access: each method of /a2a needs the permission of the REST route for the same operation', async (t) => {
  const { tool } = sending()
  const service = await startService(t, { tools: [tool], config: { access: { roles } }, script: [sendTo('Bob')] })
  await service.client.chat('Write.', { 'request-id': 'r1' })
  const asked = [
    ['GetTask', { id: 'r1' }, ['runs.read']],
    // The stream of an interrupted task stays open, so the request names an unknown task.
    ['SubscribeToTask', { id: 'nothing' }, ['runs.read']],
    ['SendMessage', sayOf('perhaps', 'r1'), ['runs.write', 'runs.approve']],
    ['SendStreamingMessage', sayOf('perhaps', 'r1'), ['runs.write', 'runs.approve']],
    ['CancelTask', { id: 'nothing' }, ['runs.write']],
    ['GetTask', { id: 'nothing' }, ['runs.read']],
  ] as const
  for (const granted of [['chat'] as Permission[], ...chatAnd]) {
    const client = await withOnly(service, ...granted)
    for (const [method, params, sufficient] of asked) {
      const { status, text, body } = await rpc(client, '/a2a', method, params)
      const isRefused = text.includes('RBAC: access denied')
      const place = `${roleOf(granted)} ${method}: ${text}`
      assert.deepEqual(
        { status, isRefused },
        { status: 200, isRefused: !sufficient.some((permission) => granted.includes(permission)) },
        place,
      )
      if (!isRefused) continue
      const message = `RBAC: access denied: this key lacks the permission ${sufficient.join(' or ')}.`
      assert.deepEqual(body, { jsonrpc: '2.0', id: 1, error: { code: -32000, message } })
    }
  }
})

test('Access: a caller that may cancel but not read a run sees only its state', async (t) => {
  const gate = gatedTool('wait')
  const script = [{ text: answer, ...callOf('wait') }, { text: 'never' }]
  const service = await startService(t, { tools: [gate.tool], config: { access: { roles } }, script })
  const chat = service.client.chat('Wait.', { 'request-id': 'r1' })
  await gate.entered
  const { status, body, text } = await (await withOnly(service, 'runs.write')).request('DELETE', '/core/v1/runs/r1')
  assert.deepEqual([status, body.status, body.outcome], [200, 'cancelled', undefined])
  assert.ok(!text.includes(answer))
  assert.equal((await chat).status, 409)
  assert.ok((await service.client.run('r1')).text.includes('cancelled'))
})

test('Access: a caller that may decide a call but not read runs sees only the state of the run', async (t) => {
  const { tool } = sending()
  const script = [{ text: answer, ...sendTo('Bob') }, { text: 'Sent.' }]
  const service = await startService(t, { tools: [tool], config: { access: { roles } }, script })
  const [call] = callsIn(await service.client.chat('Write.', { 'request-id': 'r1' }))
  const decider = await withOnly(service, 'runs.write')
  const path = '/core/v1/runs/r1/approvals'
  const decide = () => decider.request('POST', path, { body: { tool_call_id: call, decision: 'approve' } })
  assert.equal((await decide()).status, 200)
  while ((await service.client.run('r1')).body.status !== 'success') await new Promise((resolve) => setImmediate(resolve))
  const again = await decide()
  assert.deepEqual([again.status, again.body.status, again.body.outcome], [200, 'success', undefined])
})

test('Access: A2A answers and tool results link files only for keys with artifacts.read', async (t) => {
  const service = await start(t)
  for (const granted of [['chat', 'runs.read'] as const, ['chat', 'runs.read', 'artifacts.read'] as const]) {
    const { body } = await rpc(await withOnly(service, ...granted), '/a2a', 'GetTask', { id: 'r1' })
    const names = body.result.artifacts.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, granted.length === 3 ? ['answer', 'plan.svg'] : ['answer'])
  }
  for (const granted of [['chat', 'tools.execute'] as const, ['chat', 'tools.execute', 'artifacts.read'] as const]) {
    const client = await withOnly(service, ...granted)
    const { body } = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'drawing' } })
    const [file] = body.generated_artifacts
    assert.deepEqual([body.status, file.file_name, 'download_url' in file], ['success', 'plan.svg', granted.length === 3])
    assert.equal((await callTool(client, 'drawing')).text.includes('resource_link'), granted.length === 3)
  }
})
