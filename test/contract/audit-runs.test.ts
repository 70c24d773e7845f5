import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { Suspended } from '../../src/agent/approval.ts'
import type { JsonObject } from '../../src/agent/messages.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { hashOf } from '../../src/audit/event.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { query } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/open.ts'
import { callsIn, cancel, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import { startContained, startSite } from '../fixtures/contained.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { order } from '../fixtures/obedient-model.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const databases = [
  { name: 'SQLite', environmentOf: async () => ({}) },
  { name: 'Postgres', environmentOf: async () => ({ DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }) },
]

const ids = { 'request-id': 'r1', 'session-id': 's1' }
const done = { text: 'Done.' }

/** Reads the events of runs past the service. */
async function openLedger(t: TestContext, settings: Settings) {
  const { db, all, close } = await openDatabase(settings)
  t.after(() => close())
  const ofRuns = db.selectFrom('audit_events').selectAll().where('request_id', 'is not', null).orderBy('id')
  const events = async () =>
    (await query(all.read, ofRuns)).rows.map(({ data, ...row }) => ({ ...row, data: JSON.parse(data ?? '{}') as JsonObject }))
  /** A line for each event: the calls are numbered in the order of their first events. */
  async function story(): Promise<string[]> {
    const calls: unknown[] = []
    return (await events()).map(({ action, target, outcome, data }) => {
      if (!calls.includes(data['call_id'])) calls.push(data['call_id'])
      const decision = data['decision'] === undefined ? '' : ` ${String(data['decision'])}`
      return `${calls.indexOf(data['call_id']) + 1} ${action}${decision} ${target} ${outcome}`
    })
  }
  return { events, story }
}

/** The story of a call that was started and ended. */
const whole = (call: number, tool: string, outcome = 'success') => [
  `${call} tool.started tool:${tool} success`,
  `${call} tool.ended tool:${tool} ${outcome}`,
]
const lost = (call: number, tool: string) => [`${call} tool.started tool:${tool} success`, `${call} tool.unknown tool:${tool} unknown`]

const write = (name: string, execute: Tool['execute'] = async () => 'ok') => fakeTool(name, execute, { effect: 'write' })
const execute = (client: Client, tool_name: string, headers = {}) =>
  client.request('POST', '/core/v1/tool/execute', { body: { tool_name, tool_input: { n: 1 } }, headers })

for (const { name, environmentOf } of databases) {
  /** Registers a test on the database. */
  const check = (
    title: string,
    body: (tools: {
      t: TestContext
      start(options: ServiceOptions): Promise<Awaited<ReturnType<typeof startService>> & Awaited<ReturnType<typeof openLedger>>>
      environment: Record<string, string>
    }) => Promise<void>,
  ) =>
    test(`Audit of runs, ${name}: ${title}`, async (t) => {
      const environment: Record<string, string> = await environmentOf()
      const start = async (options: ServiceOptions) => {
        const service = await startService(t, { ...options, environment: { ...options.environment, ...environment } })
        return Object.assign(service, await openLedger(t, service.settings))
      }
      await body({ t, start, environment })
    })

  void check(
    'each write is started and ended once, reads leave nothing, and an input is in the ledger as a hash alone',
    async ({ start }) => {
      const turn = { calls: [callOf('look'), callOf('pay', { to: 'Zoe' }), callOf('fail')].flatMap(({ calls }) => calls) }
      const fails = write('fail', () => Promise.reject(new Error('No.')))
      const tools = [fakeTool('look', async () => 'seen'), write('pay'), fails]
      const { client, events, story, service } = await start({ tools, script: [turn, done] })
      assert.equal((await client.chat('Go.', ids)).status, 200)
      assert.deepEqual(await story(), [...whole(1, 'pay'), ...whole(2, 'fail', 'error')])
      const [started] = await events()
      const { salt, data, tenant, issuer, sub, via, owner, request_id, config_version } = started!
      assert.deepEqual(data['input_hash'], hashOf({ to: 'Zoe' }, salt ?? ''))
      assert.deepEqual(
        { tenant, issuer, sub, via, owner, request_id, config_version },
        {
          tenant: 'default',
          issuer: 'agent-core',
          sub: 'ann',
          via: 'run',
          owner: 'agent-core ann',
          request_id: 'r1',
          config_version: service.agent.version,
        },
      )
      assert.doesNotMatch(JSON.stringify(await events()), /Zoe/)
      assert.equal((await client.chat('Go.', ids)).status, 200)
      assert.equal((await story()).length, 4, 'a repeat of the request does nothing again')
    },
  )

  void check('an approved call has the hashes of the asked and of the executed input', async ({ start }) => {
    const { sent, tool } = sending()
    const { client, events, story } = await start({ tools: [tool], script: [sendTo('Bob'), done] })
    const [call] = callsIn(await client.chat('Write.', ids))
    await decide(client, 'r1', call!, { decision: 'approve', tool_input: { to: 'Eve' } })
    assert.equal((await client.chat('Write.', ids)).status, 200)
    assert.deepEqual(sent, [{ to: 'Eve' }])
    assert.deepEqual(await story(), [
      '1 approval.asked tool:send success',
      '1 approval.decided approve tool:send success',
      ...whole(1, 'send'),
    ])
    const [asked, decided, started] = await events()
    const { asked_hash, executed_hash } = decided!.data
    assert.notEqual(asked_hash, executed_hash)
    assert.deepEqual([asked!.data['input_hash'], started!.data['input_hash']], [asked_hash, executed_hash])
    assert.equal(executed_hash, hashOf({ to: 'Eve' }, started!.salt ?? ''))
    assert.deepEqual([decided!.sub, decided!.via, decided!.jti !== null, asked!.via], ['ann', 'api', true, 'run'])
  })

  void check('a rejected call and a call whose decision lapses are refused, and never started', async ({ start }) => {
    const { sent, tool } = sending()
    const { client, story } = await start({ tools: [tool], script: [sendTo('Bob', 'Eve'), done] })
    const [first] = callsIn(await client.chat('Write.', ids))
    await decide(client, 'r1', first!, { decision: 'reject' })
    await cancel(client, 'r1')
    assert.deepEqual(await story(), [
      '1 approval.asked tool:send success',
      '2 approval.asked tool:send success',
      '1 approval.decided reject tool:send refused',
      '2 approval.decided lapsed tool:send refused',
    ])
    assert.deepEqual(sent, [])
  })

  void check('a write that is cancelled, left by its client or cut off by a deletion is unknown, once', async ({ start }) => {
    const endings: ((client: Client, leave: () => void) => unknown)[] = [
      (client) => cancel(client, 'r0'),
      (_client, leave) => leave(),
      (client) => client.request('DELETE', '/core/v1/sessions/s2'),
    ]
    const gates = endings.map((_, n) => gatedTool(`hold${n}`, { effect: 'write' }))
    const script = [...endings.map((_, n) => callOf(`hold${n}`)), done]
    const config = { limits: { reconnect_grace: 0.01 } }
    const { client, story } = await start({ tools: gates.map(({ tool }) => tool), script, config })
    for (const [n, end] of endings.entries()) {
      const stream = await client.stream('Go.', { 'request-id': `r${n}`, 'session-id': `s${n}` })
      await gates[n]!.entered
      const ending = end(client, () => stream.leave())
      await gates[n]!.cancelled
      gates[n]!.open()
      await ending
      const events = await until(story, (lines) => lines.length > 2 * n + 1)
      assert.deepEqual(events.slice(2 * n), lost(n + 1, `hold${n}`))
    }
    const again = await client.stream('Go.', { 'request-id': 'r1', 'session-id': 's1' })
    assert.equal((await again.rest()).at(-1)?.chunk.finish_reason, 'stop')
    assert.equal((await story()).length, 6, 'the process that goes on finds the call unknown already')
  })

  void check('a write of a process that stops is unknown to the process that goes on', async ({ start }) => {
    const gate = gatedTool('hold', { effect: 'write' })
    const service = await start({ tools: [gate.tool], script: [callOf('hold'), done] })
    const chat = service.client.stream('Go.', { ...ids, 'on-disconnect': 'continue' }).catch(() => undefined)
    await gate.entered
    await service.restart()
    gate.open()
    await until(
      () => service.client.run('r1'),
      ({ body }) => body.ended_at !== null,
    )
    assert.deepEqual(await service.story(), lost(1, 'hold'))
    void chat
  })

  void check('a call that asks its caller is one call, from its start to its end', async ({ start }) => {
    const question = { name: 'how', input: { question: 'How much?', answer_schema: { type: 'object' } } }
    const book = write('book', async (_input, { resumed }) => {
      if (!resumed) throw new Suspended({ at: 1 }, [question])
      return 'booked'
    })
    const { client, events, story } = await start({
      tools: [book, write('pay')],
      script: [{ calls: [...callOf('book').calls, ...callOf('pay').calls] }, done],
    })
    const [call] = callsIn(await client.chat('Book.', ids))
    await decide(client, 'r1', call!, { decision: 'approve', tool_input: { amount: 7 } })
    assert.equal((await client.chat('Book.', ids)).status, 200)
    assert.deepEqual(await story(), [
      '1 tool.started tool:book success',
      '2 approval.asked tool:book success',
      '2 approval.decided approve tool:book success',
      '1 tool.ended tool:book success',
      ...whole(3, 'pay'),
    ])
    const decided = (await events())[2]!
    assert.equal(decided.data['answer_hash'], hashOf({ amount: 7 }, decided.salt ?? ''))
    const again = await client.chat('Book.', { 'request-id': 'r2', 'session-id': 's2' })
    assert.equal(again.status, 200)
  })

  void check('the writes of a sub-agent are started and ended as those of its run', async ({ start }) => {
    const script = ({ body: { messages } }: ModelServerRequest) => {
      const isHelper = String(messages[0].content).includes('You are the sub-agent')
      if (messages.at(-1).role === 'tool') return done
      return isHelper ? { calls: [...callOf('pay').calls, ...callOf('pay').calls] } : callOf('sub_agent_helper', { task: 'Pay.' })
    }
    const { client, story } = await start({ tools: [write('pay')], script, config: { sub_agents: { may_create: false } } })
    const body = { name: 'helper', description: 'Helps.', objective: 'Pay.', tools: ['pay'] }
    assert.equal((await client.request('POST', '/core/v1/chain/sub_agents', { body })).status, 200)
    assert.equal((await client.chat('Go.', ids)).status, 200)
    assert.deepEqual(await story(), [...whole(1, 'pay'), ...whole(2, 'pay')])
  })

  void check('a direct execution of a write is started and ended, with a request id and without', async ({ start }) => {
    const fails = write('fail', () => Promise.reject(new Error('No.')))
    const { client, events, story } = await start({ tools: [fakeTool('look', async () => 'seen'), write('pay'), fails] })
    for (const tool of ['look', 'pay', 'fail']) assert.equal((await execute(client, tool)).status, 200)
    assert.deepEqual(await story(), [...whole(1, 'pay'), ...whole(2, 'fail', 'error')])
    for (const _ of [1, 2]) assert.equal((await execute(client, 'pay', { 'request-id': 'once' })).status, 200)
    assert.deepEqual((await story()).slice(4), whole(3, 'pay'))
    const last = (await events()).at(-1)!
    assert.equal(last.request_id, 'once')
    const called = await client.request('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } },
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    })
    assert.equal(called.status, 200, called.text)
    assert.deepEqual((await story()).slice(6), whole(4, 'pay'))
  })

  void check('where agent.yaml turns the ledger off, nothing is recorded', async ({ start }) => {
    const { tool } = sending()
    const config = { audit: { enabled: false } }
    const { client, story } = await start({ tools: [tool, write('pay')], script: [callOf('pay'), sendTo('Bob'), done], config })
    const [call] = callsIn(await client.chat('Write.', ids))
    await decide(client, 'r1', call!)
    assert.equal((await client.chat('Write.', ids)).status, 200)
    assert.equal((await execute(client, 'pay')).status, 200)
    assert.deepEqual(await story(), [])
  })

  void check('a call that containment refuses is in the ledger with its sources, and not started', async ({ t, environment }) => {
    const site = await startSite(t, { '/page': order('refund', { order: '9' }) })
    const service = await startContained(
      t,
      { after_untrusted: 'refuse' },
      { sites: [site], environment: { ...environment, OUTBOUND_ALLOW: site.host } },
    )
    const { events, story } = await openLedger(t, service.settings)
    assert.equal((await service.client.chat(order('web_page', { url: site.url('/page') }), ids)).status, 200)
    assert.deepEqual(await story(), ['1 containment.refused tool:refund refused'])
    const [{ data, salt }] = (await events()) as [Awaited<ReturnType<typeof events>>[0]]
    assert.equal(data['input_hash'], hashOf({ order: '9' }, salt ?? ''))
    assert.deepEqual(
      (data['sources'] as JsonObject[]).map(({ tool }) => tool),
      ['web_page'],
    )
  })

  void check('a run that waits for a budget asks, and its extension decides', async ({ start }) => {
    const usage = { input: 100, output: 300 }
    const budgets = [{ name: 'day', scope: 'caller', window: 'day', limit: { usd: 0.0015 }, on_exceeded: 'pause' }]
    const script = [
      { ...callOf('pay'), usage },
      { ...done, usage },
    ]
    const { client, story, as } = await start({
      tools: [write('pay')],
      script,
      modelFields: { prices: { input: 1, output: 3 } },
      config: { budgets },
    })
    assert.equal((await client.chat('Go.', ids)).status, 202)
    const admin = await as({ sub: 'root', roles: ['admin'] })
    const body = { decision: 'extend', limit: { usd: 0.01 } }
    assert.equal((await admin.request('POST', '/core/v1/runs/r1/approvals', { body })).status, 200)
    assert.equal((await client.chat('Go.', ids)).status, 200)
    assert.deepEqual(
      (await story()).filter((line) => !line.includes('overridden')),
      [...whole(1, 'pay'), '2 approval.asked budget:day success', '2 approval.decided extend budget:day success'],
    )
  })
}
