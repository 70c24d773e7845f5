import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { callsIn, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { gate, until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'
import { traceOf } from '../fixtures/trace.ts'

/** The entries of the header by name, in milliseconds; undefined without the header. */
function timingsOf({ headers }: { headers: Headers }): Record<string, number> | undefined {
  const header = headers.get('server-timing')
  if (header === null) return undefined
  return Object.fromEntries(
    header.split(', ').map((entry) => {
      const [, name, ms] = /^([a-z]+);dur=(\d+(?:\.\d)?)$/.exec(entry) ?? assert.fail(`Not an entry: ${entry}`)
      return [name!, Number(ms)]
    }),
  )
}

const namesOf = (reply: { headers: Headers }) => Object.keys(timingsOf(reply) ?? {})
const ofRun = ['queue', 'store', 'model', 'tools', 'own', 'total']
const ofRequest = ['store', 'own', 'total']

/** The entries add up to the total. Each is rounded to a tenth. */
function assertSum(reply: { headers: Headers }): void {
  const { total = 0, ...parts } = timingsOf(reply)!
  const sum = Object.values(parts).reduce((all, ms) => all + ms, 0)
  assert.ok(Math.abs(sum - total) < 0.6, `${sum} of ${total}`)
}

const question = { messages: [{ role: 'user', content: 'hello' }] }

test('Server timing: a chat says where its time went, at every door', async (t) => {
  const { client, url, key } = await startService(t, { script: {} })
  const core = await client.chat('hello')
  const openAi = await client.request('POST', '/v1/chat/completions', { body: { model: 'agent-core', ...question } })
  const response = await client.request('POST', '/v1/responses', { body: { model: 'agent-core', input: 'hello' } })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const access = { 'x-service-access': (await key()).key, 'content-type': 'application/json', 'a2a-version': '1.0' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  const task = await fetch(`${url}/a2a`, { method: 'POST', headers: access, body })
  assert.equal(((await task.json()) as any).result.task.status.state, 'TASK_STATE_COMPLETED')
  for (const reply of [core, openAi, response, task]) {
    assert.deepEqual([reply.status, namesOf(reply)], [200, ofRun])
    assertSum(reply)
    const { model, store, tools } = timingsOf(reply)!
    assert.ok(model! > 0 && store! > 0)
    assert.equal(tools, 0)
  }
})

test('Server timing: tool calls, a busy session and a repeat have their entries', async (t) => {
  const held = gatedTool('look')
  const { client } = await startService(t, {
    script: ({ body }) => (body.messages.at(-1).content === 'go' ? callOf('look') : { text: 'done' }),
    tools: [held.tool],
  })
  const ids = { 'request-id': 'r1', 'session-id': 's1' }
  const first = client.chat('go', ids)
  await held.entered
  const second = client.chat('next', { ...ids, 'request-id': 'r2' })
  const joined = client.chat('go', ids)
  await until(
    () => client.request('GET', '/core/v1/runs/r2'),
    ({ body }) => body.status === 'pending',
  )
  held.open()
  const replies = await Promise.all([first, second, joined])
  for (const reply of replies) {
    assert.deepEqual(namesOf(reply), ofRun)
    assertSum(reply)
  }
  const [own, queued] = replies.map((reply) => timingsOf(reply)!)
  assert.ok(own!['tools']! > 0 && own!['queue'] === 0)
  assert.ok(queued!['queue']! > 0 && queued!['tools'] === 0)
  const repeated = await client.chat('go', ids)
  const { model, tools } = timingsOf(repeated)!
  assert.deepEqual([namesOf(repeated), model, tools], [ofRun, 0, 0])
})

test('Server timing: a chat that leaves the queue was in the queue', async (t) => {
  const model = gate(() => ({ text: 'done' }))
  const { client } = await startService(t, { script: model.script, config: { limits: { max_session_wait: 1 } } })
  const first = client.chat('one', { 'session-id': 's1' })
  await model.entered
  const busy = await client.chat('two', { 'session-id': 's1' })
  const { queue, total } = timingsOf(busy)!
  assert.deepEqual([busy.status, busy.body.details.error_type], [409, 'SessionBusy'])
  assert.ok(queue! > total! / 2)
  model.open()
  assert.equal((await first).status, 200)
})

test('Server timing: a stream has the times until its start', async (t) => {
  const { client } = await startService(t, { script: {} })
  const stream = await client.stream('hello', { 'request-id': 'r1' })
  await stream.rest()
  assert.deepEqual(namesOf(stream), ofRun)
  const followed = await client.follow('r1')
  await followed.rest()
  assert.deepEqual(namesOf(followed), ofRun)
  assert.equal(timingsOf(followed)!['model'], 0)
})

test('Server timing: other answers have the time of the store, and those of a tool or a model its time', async (t) => {
  const { client } = await startService(t, { script: {}, tools: [fakeTool('look', () => sleep(2, 'seen'))] })
  await client.chat('hello', { 'session-id': 's1' })
  // A fork is a commit, which takes longer than a read.
  const fork = await client.request('POST', '/core/v1/sessions/s1/fork', { body: { message_index: 1 } })
  const sessions = await client.request('GET', '/core/v1/sessions')
  for (const reply of [fork, sessions]) {
    assert.deepEqual([reply.status, namesOf(reply)], [200, ofRequest])
    assertSum(reply)
  }
  assert.ok(timingsOf(fork)!['store']! > 0)
  const executed = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'look', tool_input: {} } })
  assert.deepEqual([executed.status, namesOf(executed)], [200, ['store', 'tools', 'own', 'total']])
  const unknown = await client.request('GET', '/core/v1/runs/nobody')
  assert.deepEqual([unknown.status, namesOf(unknown)], [404, ofRequest])
})

test('Server timing: refusals of a caller have the header, and answers without a caller have none', async (t) => {
  const limits = { access: { rate_limits: { user: { requests_per_minute: 2 } } } }
  const { client, as, url } = await startService(t, { script: {}, config: limits })
  const invalid = await client.chat({ messages: [] })
  assert.deepEqual([invalid.status, namesOf(invalid)], [422, ['own', 'total']])
  await client.chat('hello')
  const refused = await client.chat('hello')
  assert.deepEqual([refused.status, namesOf(refused)], [429, ['own', 'total']])
  const forbidden = await (await as({ roles: ['viewer'] })).chat('hello')
  assert.deepEqual([forbidden.status, namesOf(forbidden)], [403, ['own', 'total']])
  const answers = await Promise.all(
    ['/core/v1/sessions', '/nothing', '/health', '/openapi.json', '/console/'].map((path) => fetch(url + path)),
  )
  for (const answer of answers) assert.equal(timingsOf(answer), undefined, answer.url)
  assert.deepEqual([answers[0]!.status, answers[1]!.status, answers[2]!.status], [401, 404, 200])
  for (const { headers } of [invalid, ...answers]) assert.equal(headers.get('timing-allow-origin'), null)
})

test('Server timing: a page on another origin cannot read the header', async (t) => {
  const origin = 'https://app.example'
  const { client } = await startService(t, { script: {}, environment: { CORS_ORIGINS: origin } })
  const reply = await client.chat('hello', { origin })
  assert.equal(reply.headers.get('access-control-allow-origin'), origin)
  assert.deepEqual(namesOf(reply), ofRun)
  assert.doesNotMatch(reply.headers.get('access-control-expose-headers') ?? '', /timing|\*/)
  assert.equal(reply.headers.get('timing-allow-origin'), null)
})

test('Server timing: the trace of a run has the times of all of its attempts, without the wait for a decision', async (t) => {
  const { tool } = sending()
  const { client } = await startService(t, { script: [sendTo('ada'), { text: 'sent' }], tools: [tool] })
  const waiting = await client.chat('send', { 'request-id': 'r1' })
  assert.equal(waiting.status, 202)
  const before = (await traceOf(client, 'r1')).spans[0]!.attributes.timing
  await sleep(300)
  await decide(client, 'r1', callsIn(waiting)[0]!)
  await until(
    () => client.run('r1'),
    ({ body }) => body.status === 'success',
  )
  const { spans } = await traceOf(client, 'r1')
  const { timing } = spans[0]!.attributes
  assert.deepEqual(Object.keys(timing), ['queue', 'store', 'model', 'tools', 'own'])
  for (const phase of Object.keys(timing)) assert.ok(timing[phase] >= before[phase], phase)
  assert.ok(timing.model > before.model)
  const msOf = (of?: { started_at: string; ended_at: string | null }) => Date.parse(of!.ended_at!) - Date.parse(of!.started_at)
  const wait = msOf(spans.find(({ kind }) => kind === 'wait'))
  const sum = Object.values<number>(timing).reduce((all, seconds) => all + seconds * 1000, 0)
  assert.ok(sum < msOf(spans[0]) - wait / 2, `${sum} of ${msOf(spans[0])}, with a wait of ${wait}`)
})
