import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { gate, until } from '../fixtures/async-client.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { Client, StreamEvent } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Two services on a shared database. */
async function startTwo(t: TestContext, options: ServiceOptions) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const here = await startService(t, { ...options, environment })
  const there = await startService(t, { ...options, environment })
  return { here: here.client, there: there.client, asThere: there.as }
}

const inSession = (requestId: string) => ({ 'request-id': requestId, 'session-id': 's1' })
const question = ({ body }: ModelServerRequest): string => body.messages.at(-1).content

test('Chat: requests of one session run one at a time, in order of arrival, across replicas', async (t) => {
  const { script, open, entered } = gate((request) => ({ text: `to ${question(request)}` }))
  const { here, there } = await startTwo(t, { script })
  const first = here.chat('1', inSession('r1'))
  await entered
  const rest = []
  for (const n of [2, 3, 4, 5]) {
    rest.push((n % 2 ? here : there).chat(String(n), inSession(`r${n}`)))
    await until(
      () => here.run(`r${n}`),
      (run) => run.body.status === 'pending',
    )
  }
  open()
  for (const { status } of await Promise.all([first, ...rest])) assert.equal(status, 200)
  const { messages } = (await there.session('s1')).body
  assert.deepEqual(
    messages.map((message: { content: string }) => message.content),
    ['1', 'to 1', '2', 'to 2', '3', 'to 3', '4', 'to 4', '5', 'to 5'],
  )
})

test('Runs: an administrator follows and cancels a run of another caller that another replica runs', async (t) => {
  const gate = gatedTool('wait')
  const { here, asThere } = await startTwo(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'I wait.' } })
  const ada = await asThere({ sub: 'ada', roles: ['admin'] })
  const chat = here.chat('Hi', inSession('r1'))
  await gate.entered
  const stream = await ada.follow('r1')
  assert.equal((await stream.next())?.chunk.token, 'I wait.')
  const cancelled = await ada.request('DELETE', '/core/v1/runs/r1?issuer=agent-core&sub=ann')
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  assert.equal((await stream.rest()).at(-1)?.chunk.finish_reason, 'cancelled')
  assert.equal((await chat).status, 409)
  const outsider = await asThere({ sub: 'ada', tenant: 'other', roles: ['admin'] })
  assert.equal((await outsider.request('GET', '/core/v1/runs/r1?sub=ann')).status, 404)
})

test('Runs: a run that is active or queued on another replica is cancelled at once', async (t) => {
  const { script, entered } = gate(() => ({ text: 'never' }))
  const { here, there } = await startTwo(t, { script })
  const running = here.chat('Hi', inSession('r1'))
  await entered
  const waiting = here.chat('Hi', inSession('r2'))
  await until(
    () => there.run('r2'),
    (run) => run.body.status === 'pending',
  )
  for (const [id, chat] of [
    ['r2', waiting],
    ['r1', running],
  ] as const) {
    const cancelled = await there.request('DELETE', `/core/v1/runs/${id}`)
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
    const { status, body } = await chat
    assert.deepEqual({ status, error_type: body.details.error_type }, { status: 409, error_type: 'Cancelled' })
    const again = await there.request('DELETE', `/core/v1/runs/${id}`)
    assert.deepEqual({ status: again.status, error_type: again.body.details.error_type }, { status: 409, error_type: 'RunEnded' })
  }
})

test('Sessions: deleting a session ends its active and queued runs on another replica', async (t) => {
  const { script, entered } = gate(() => ({ text: 'never' }))
  const { here, there } = await startTwo(t, { script })
  const running = here.chat('Hi', inSession('r1'))
  await entered
  const waiting = here.chat('Hi', inSession('r2'))
  await until(
    () => there.run('r2'),
    (run) => run.body.status === 'pending',
  )
  assert.equal((await there.request('DELETE', '/core/v1/sessions/s1')).status, 200)
  for (const chat of [running, waiting]) assert.ok([409, 410].includes((await chat).status))
  for (const id of ['r1', 'r2']) assert.equal((await here.run(id)).status, 410)
})

test('Sub-agents: terminating a sub-agent ends its work on another replica', async (t) => {
  const { script: wait, entered } = gate(() => ({ text: 'never' }))
  const script = (request: ModelServerRequest) => {
    const { role, content } = request.body.messages.at(-1)
    if (role === 'tool') return { text: 'Then not.' }
    return content === 'Dig.' ? wait(request) : callOf('sub_agent_digger', { task: 'Dig.' })
  }
  const { here, there } = await startTwo(t, { script })
  const all = '/core/v1/chain/sub_agents'
  const { sub_agent_id: id } = (await there.request('POST', all, { body: { name: 'digger' } })).body
  const chat = here.chat('Let it dig.')
  await entered
  assert.equal((await there.request('GET', `${all}/${id}`)).body.status, 'busy')
  assert.equal((await there.request('DELETE', `${all}/${id}`)).status, 200)
  const { status, body } = await chat
  assert.deepEqual([status, body.body.output, body.body.intermediate_steps[0].status], [200, 'Then not.', 'error'])
})

const paced = (pieces: number, pauseMs: number) => ({ text: Array.from({ length: pieces }, (_, n) => `${n} `), pauseMs })
const numbersOf = (events: StreamEvent[]) => events.map(({ id }) => Number(id.split(':').at(-1)))
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, n) => first + n)

test('Streaming: a run is read live on any replica, from the start and from any number, with the same ids and one end', async (t) => {
  const { here, there } = await startTwo(t, { script: () => paced(40, 20) })
  const stream = await here.stream('Count.', inSession('r1'))
  const first = (await stream.next())!
  const whole = await there.follow('r1')
  const behind = await there.follow('r1', 'r1:10')
  const told = [first, ...(await stream.rest())]
  assert.deepEqual(numbersOf(told), upTo(told.length))
  assert.deepEqual({ status: whole.status, 'session-id': whole.headers.get('session-id') }, { status: 200, 'session-id': 's1' })
  assert.deepEqual(await whole.rest(), told)
  assert.deepEqual(await behind.rest(), told.slice(10))
})

test('Tools: a repeated call on another replica waits for the first', async (t) => {
  const { tool, inputs, entered, open } = gatedTool('order', { effect: 'write' })
  const { here, there } = await startTwo(t, { tools: [tool] })
  const call = (client: Client) =>
    client.request('POST', '/core/v1/tool/execute', {
      body: { tool_name: 'order', tool_input: { item: 'pen' } },
      headers: { 'request-id': 'x1' },
    })
  const first = call(here)
  await entered
  const second = call(there)
  // The repeated call must be waiting by then.
  assert.equal((await there.run('unknown')).status, 404)
  open()
  const [one, other] = await Promise.all([first, second])
  assert.deepEqual([one.status, one.body.status, other.body], [200, 'success', one.body])
  assert.equal(inputs.length, 1)
})

test('Errors: a NUL in an id or an address is refused as a client error, also on Postgres', async (t) => {
  const { here } = await startTwo(t, { script: {} })
  const list = await here.request('GET', '/core/v1/sessions?before=%00')
  assert.deepEqual({ status: list.status, loc: list.body.detail?.[0].loc }, { status: 422, loc: ['query', 'before'] })
  const subAgent = await here.request('DELETE', '/core/v1/chain/sub_agents/%00')
  assert.deepEqual({ status: subAgent.status, loc: subAgent.body.detail?.[0].loc }, { status: 422, loc: ['path', 'sub_agent_id'] })
  const data = { messages: [{ role: 'user', content: 'hi' }], callback_url: 'http://93.184.216.34/?\0' }
  const event = { specversion: '1.0', type: 'ai.service.agent.chain', id: 'e', source: '/tests', data }
  const refused = await here.request('POST', '/core/v1/chain_async', { body: event })
  assert.deepEqual({ status: refused.status, loc: refused.body.detail?.[0].loc }, { status: 422, loc: ['body', 'data', 'callback_url'] })
  const taken = await here.request('POST', '/core/v1/chain_async', { body: { ...event, id: 'e\0', data: { ...data, callback_url: null } } })
  assert.equal(taken.status, 200)
})
