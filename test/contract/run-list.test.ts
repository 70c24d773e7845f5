import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { scripted, startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const list = (client: Client, query = '') => client.request('GET', `/core/v1/runs${query}`)
const idsOf = async (client: Client, query = '') => (await list(client, query)).body.runs.map((run: any) => run.request_id)

/** Calls the tool that the question names; a question without a tool is answered. */
const script = ({ body }: ModelServerRequest) => {
  const { role, content } = body.messages.at(-1)
  if (content === 'fail') return { status: 401, body: 'no' }
  return role === 'user' && /^(wait|look)$/.test(content) ? callOf(content) : { text: 'done', usage: { input: 100, output: 50 } }
}

async function startPriced(t: TestContext, options: Parameters<typeof startService>[1] = {}) {
  const model = await startModelServer(script)
  t.after(() => model.close())
  const primary = { ...scripted(model), prices: { input: 1, output: 2 } }
  return startService(t, { ...options, config: { llms: { primary } } })
}

test('Runs: the list shows own runs, newest first, with question, tokens, cost, error and version', async (t) => {
  const { client, as } = await startPriced(t)
  const admin = await as({ roles: ['admin'], sub: 'ada' })
  const { version } = (await admin.request('GET', '/core/v1/agent/config')).body
  await client.chat(`How? ${'x'.repeat(300)}`, { 'request-id': 'r1', 'session-id': 's1' })
  await client.chat('fail', { 'request-id': 'r2', 'session-id': 's2' })
  await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'calculator', tool_input: { expression: '1' } } })
  const { status, body } = await list(client)
  assert.deepEqual([status, body.has_more, body.runs.length], [200, false, 2])
  const [failed, { created_at, started_at, ended_at, ...done }] = body.runs
  assert.deepEqual(done, {
    request_id: 'r1',
    session_id: 's1',
    issuer: 'agent-core',
    sub: 'ann',
    operation: 'chain',
    status: 'success',
    input: `How? ${'x'.repeat(195)}`,
    tokens: 150,
    cost: 0.0002,
    tool_errors: 0,
    error_type: null,
    config_version: version,
  })
  assert.ok(created_at <= started_at && started_at <= ended_at)
  assert.deepEqual([failed.request_id, failed.status, failed.error_type, failed.tokens], ['r2', 'error', 'ModelUnavailable', 0])
})

test('Runs: the list has runs in progress, without an end, tokens and cost', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startPriced(t, { tools: [gate.tool] })
  const chat = client.chat('wait', { 'request-id': 'r1', 'session-id': 's1' })
  await gate.entered
  const queued = client.chat('look', { 'request-id': 'r2', 'session-id': 's1' })
  const { body } = await until(
    () => list(client),
    ({ body: { runs } }) => runs.length === 2,
  )
  const states = body.runs.map(({ request_id, status, started_at, ended_at, tokens, cost }: any) => {
    return { request_id, status, isStarted: started_at !== null, ended_at, tokens, cost }
  })
  assert.deepEqual(states, [
    { request_id: 'r2', status: 'pending', isStarted: false, ended_at: null, tokens: 0, cost: null },
    { request_id: 'r1', status: 'running', isStarted: true, ended_at: null, tokens: 0, cost: null },
  ])
  assert.deepEqual([await idsOf(client, '?status=running'), await idsOf(client, '?status=pending')], [['r1'], ['r2']])
  gate.open()
  await Promise.all([chat, queued])
  assert.deepEqual([await idsOf(client, '?status=running'), await idsOf(client, '?tool=wait')], [[], ['r1']])
})

test('Runs: each role sees the runs that it may see, and the question of foreign runs only as administrator', async (t) => {
  const { as } = await startPriced(t)
  const who = (sub: string, role: string, tenant = 'default') => as({ sub, roles: [role], tenant })
  await (await who('ann', 'user')).chat('of ann', { 'request-id': 'r1' })
  await (await who('bob', 'user')).chat('of bob', { 'request-id': 'r2' })
  await (await who('eve', 'user', 'other')).chat('of eve', { 'request-id': 'r3' })
  await (await who('ada', 'admin')).chat('of ada', { 'request-id': 'r4' })
  const seen = async (client: Client) => (await list(client)).body.runs.map(({ request_id, input }: any) => [request_id, input])
  const cases: [Client, [string, string | null][]][] = [
    [await who('ann', 'user'), [['r1', 'of ann']]],
    [await who('ann', 'viewer'), [['r1', 'of ann']]],
    [await who('nobody', 'viewer'), []],
    [
      await who('bob', 'operator'),
      [
        ['r4', null],
        ['r2', 'of bob'],
        ['r1', null],
      ],
    ],
    [
      await who('ada', 'admin'),
      [
        ['r4', 'of ada'],
        ['r2', 'of bob'],
        ['r1', 'of ann'],
      ],
    ],
    [await who('ann', 'admin', 'other'), [['r3', 'of eve']]],
  ]
  for (const [n, [client, expected]] of cases.entries()) assert.deepEqual(await seen(client), expected, String(n))
  assert.deepEqual(await idsOf(await who('ann', 'user'), '?sub=bob'), [])
  assert.deepEqual(await idsOf(await who('bob', 'operator'), '?sub=ann'), ['r1'])
})

test('Runs: filters combine with each other and with pages', async (t) => {
  const look = fakeTool('look', async () => ({}))
  const { client, as } = await startPriced(t, { tools: [look] })
  const admin = await as({ roles: ['admin'], sub: 'ada' })
  const since = new Date().toISOString()
  for (const n of [1, 2, 3]) await client.chat('look', { 'request-id': `r${n}`, 'session-id': 's1' })
  await client.chat('fail', { 'request-id': 'r4' })
  await sendEvent(client, event('e', { messages: [{ role: 'user', content: 'go' }] }), { 'request-id': 'r5' })
  await until(
    () => client.run('r5'),
    ({ body }) => body.status === 'success',
  )
  const { config_version: version } = (await list(client)).body.runs[0]
  for (const [query, expected] of [
    ['tool=look', ['r3', 'r2', 'r1']],
    [`tool=look&session_id=s1&version=${version}&sub=ann&status=success&operation=chain&since=${since}`, ['r3', 'r2', 'r1']],
    ['status=error', ['r4']],
    ['operation=chain_async', ['r5']],
    ['session_id=s1&limit=2', ['r3', 'r2']],
    ['version=other', []],
    [`until=${since}`, []],
    [`since=${since}&until=2100-01-01`, ['r5', 'r4', 'r3', 'r2', 'r1']],
  ] as const) {
    for (const caller of [client, admin]) assert.deepEqual(await idsOf(caller, `?${query}`), expected, query)
  }
  const first = (await list(admin, '?tool=look&limit=2')).body
  assert.deepEqual([first.has_more, first.runs.length], [true, 2])
  const second = (await list(admin, `?tool=look&limit=2&before=${first.offset}`)).body
  assert.deepEqual([second.has_more, second.runs.map((run: any) => run.request_id)], [false, ['r1']])
  const third = (await list(admin, `?tool=look&before=${second.offset}`)).body
  assert.deepEqual(third, { runs: [], offset: '', has_more: false })
})

test('Runs: a list names the parameter that it cannot use', async (t) => {
  const { client } = await startPriced(t)
  const offsetOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const [name, value] of [
    ['status', 'gone'],
    ['operation', 'tool_execute'],
    ['session_id', 'a b'],
    ['sub', ''],
    ['tool', '%00'],
    ['since', 'yesterday'],
    ['since', '2026-13-01T00:00:00Z'],
    ['until', '2026-11-22T08:00:00'],
    ['limit', '0'],
    ['limit', '101'],
    ['before', 'r1'],
    ['before', offsetOf(['x', 'r', 'o'])],
    ['before', offsetOf([1, 'r'])],
    ['before', offsetOf([1, 'r\0', 'o'])],
    ['before', offsetOf([1e300, 'r', 'o'])],
  ] as const) {
    const { status, body } = await list(client, `?${name}=${value}`)
    assert.deepEqual([status, body.detail?.[0]?.loc], [422, ['query', name]], `${name}=${value}`)
  }
  const { body } = await list(client, '?since=2026-11-22&until=2026-11-21')
  assert.deepEqual(body.detail[0].loc, ['query', 'until'])
})
