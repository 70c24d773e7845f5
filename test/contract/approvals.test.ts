import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Tool } from '../../src/agent/tool.ts'
import { callsIn, cancel, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import { outputOf, type Client, type Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const asks = [sendTo('Bob'), { text: 'It is done.' }]
const ids = { 'request-id': 'r1', 'session-id': 's1' }

async function start(t: TestContext, { traits, ...options }: ServiceOptions & { traits?: Partial<Tool> } = {}) {
  const { sent, tool } = sending(traits)
  const service = await startService(t, { script: asks, ...options, tools: [tool, ...(options.tools ?? [])] })
  return { ...service, sent, test: service }
}

const errorOf = ({ status, body }: Reply) => [status, body.details?.error_type]
const ended = (client: Client, id = 'r1') =>
  until(
    () => client.run(id),
    ({ body }) => body.ended_at !== null,
  )

test('Approval: an interrupted chain is 202 with its pending calls, and resumes after the decision', async (t) => {
  const { client, sent } = await start(t)
  const waiting = await client.chat('Write to Bob.', ids)
  assert.equal(waiting.status, 202, waiting.text)
  const { input, output, intermediate_steps: steps, usage } = waiting.body.body
  assert.deepEqual({ input, output, steps }, { input: 'Write to Bob.', output: '', steps: [] })
  assert.equal(usage[0].costAttribute, 'scripted')
  const [call] = callsIn(waiting)
  assert.deepEqual(waiting.body.approval_required, {
    request_id: 'r1',
    calls: [{ tool_call_id: call, tool: 'send', tool_input: { to: 'Bob' } }],
  })
  const run = await client.run('r1')
  assert.deepEqual(
    { status: run.body.status, ended_at: run.body.ended_at, outcome: run.body.outcome },
    { status: 'interrupted', ended_at: null, outcome: undefined },
  )
  assert.deepEqual(run.body.approval_required, waiting.body.approval_required)
  const again = await client.chat('Write to Bob.', ids)
  assert.deepEqual({ status: again.status, body: again.body }, { status: 202, body: waiting.body })
  assert.deepEqual(errorOf(await client.chat('Write to Eve.', ids)), [409, 'RequestIdReused'])
  assert.deepEqual(sent, [])
  const decided = await decide(client, 'r1', call!)
  assert.deepEqual(
    { status: decided.status, approval_required: decided.body.approval_required },
    { status: 200, approval_required: undefined },
    decided.text,
  )
  const answer = await client.chat('Write to Bob.', ids)
  assert.deepEqual({ status: answer.status, output: answer.body.body.output }, { status: 200, output: 'It is done.' })
  assert.deepEqual(
    answer.body.body.intermediate_steps.map((step: { tool: string; status: string }) => [step.tool, step.status]),
    [['send', 'success']],
  )
  assert.deepEqual(sent, [{ to: 'Bob' }])
  const end = await client.run('r1')
  assert.deepEqual(
    { status: end.body.status, output: end.body.outcome.output, started_at: end.body.started_at },
    { status: 'success', output: 'It is done.', started_at: run.body.started_at },
  )
  const [, ai] = (await client.session('s1')).body.messages
  assert.deepEqual(
    { content: ai.content, finish_reason: ai.response_metadata.finish_reason },
    { content: 'It is done.', finish_reason: 'stop' },
  )
})

test('Approval: calls of the same turn without approval run first; the run resumes after the last of several decisions', async (t) => {
  const look = fakeTool('look', async () => 'seen')
  const turn = { text: 'I look, and write.', calls: [...sendTo('A').calls, ...callOf('look').calls, ...sendTo('B').calls] }
  const { client, sent, model } = await start(t, { tools: [look], script: [turn, { text: 'Done.' }] })
  const waiting = await client.chat('Go.', ids)
  assert.equal(waiting.body.body.output, '')
  assert.deepEqual(
    waiting.body.body.intermediate_steps.map((step: { tool: string }) => step.tool),
    ['look'],
  )
  const [first, second] = callsIn(waiting)
  const half = await decide(client, 'r1', first!, { decision: 'reject', reason: 'A is away.' })
  assert.deepEqual({ status: half.body.status, callsIn: callsIn(half) }, { status: 'interrupted', callsIn: [second] })
  assert.equal((await client.chat('Go.', ids)).status, 202)
  await decide(client, 'r1', second!, { decision: 'approve', tool_input: { to: 'C' } })
  assert.equal((await client.chat('Go.', ids)).body.body.output, 'Done.')
  assert.deepEqual(sent, [{ to: 'C' }])
  const told = model.requests[1]!.body.messages.filter((one: { role: string }) => one.role === 'tool')
  assert.match(told[0].content, /rejected by a person: A is away\./)
  assert.match(told[1].content, /seen/)
  assert.match(told[2].content, /changed the arguments .*"C".*\nsent to C/)
})

test('Approval: a stream ends with the pending calls; afterwards the reader gets the rest, and a replay shows the passed interruption', async (t) => {
  const { client } = await start(t, { script: [{ text: 'One moment.', ...sendTo('Bob') }, { text: ['It is ', 'done.'] }] })
  const first = await (await client.stream('Write to Bob.', ids)).rest()
  const last = first.at(-1)!
  const numberOf = (id: string) => Number(id.split(':').at(-1))
  assert.deepEqual(
    { finish_reason: last.chunk.finish_reason, agent_step: last.chunk.agent_step, token: last.chunk.token },
    { finish_reason: 'approval_required', agent_step: 'answer', token: '' },
  )
  assert.equal(last.chunk.usage[0]!.costAttribute, 'scripted')
  assert.equal(outputOf(first), 'One moment.')
  assert.deepEqual(
    first.slice(0, -1).map(({ chunk }) => chunk.finish_reason),
    first.slice(1).map(() => 'null'),
  )
  const call = last.chunk.approval_required!.calls[0]!
  assert.deepEqual(call, { ...call, tool: 'send', tool_input: { to: 'Bob' } })
  assert.deepEqual(await (await client.follow('r1')).rest(), first)
  assert.deepEqual(await (await client.stream('Write to Bob.', ids)).rest(), first)
  const waits = await client.follow('r1', last.id)
  const beyond = await client.follow('r1', `r1:${numberOf(last.id) + 100}`)
  assert.equal(waits.status, 200)
  await decide(client, 'r1', call.tool_call_id)
  const rest = await waits.rest()
  assert.equal(numberOf(rest[0]!.id), numberOf(last.id) + 1)
  assert.deepEqual(
    { outputOf: outputOf(rest), finish_reason: rest.at(-1)!.chunk.finish_reason },
    { outputOf: 'It is done.', finish_reason: 'stop' },
  )
  beyond.leave()
  const passed = { ...last, chunk: { ...last.chunk, finish_reason: 'null', usage: [] } }
  delete passed.chunk.approval_required
  assert.deepEqual(await (await client.follow('r1')).rest(), [...first.slice(0, -1), passed, ...rest])
  assert.deepEqual(await (await client.follow('r1', rest[0]!.id)).rest(), rest.slice(1))
  assert.deepEqual(
    rest.map(({ id }, at) => numberOf(id) - at),
    rest.map(() => numberOf(last.id) + 1),
  )
})

test('Approval: a session with an interrupted run accepts no new chat; queued chats leave the queue, async runs wait', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await start(t, { tools: [gate.tool], script: [callOf('wait'), sendTo('Bob'), { text: 'done' }, { text: 'next' }] })
  const first = client.chat('one', ids)
  await gate.entered
  const inLine = client.chat('two', { 'session-id': 's1', 'request-id': 'r2' })
  const streamed = client.stream('three', { 'session-id': 's1', 'request-id': 'r3' })
  const accepted = await sendEvent(client, event('e1', { messages: [{ role: 'user', content: 'later' }], session_id: 's1' }))
  for (const id of ['r2', 'r3']) {
    await until(
      () => client.run(id),
      ({ status }) => status === 200,
    )
  }
  gate.open()
  const waiting = await first
  assert.equal(waiting.status, 202)
  const since = Date.now()
  assert.deepEqual(errorOf(await inLine), [409, 'SessionInterrupted'])
  const refused = await streamed
  assert.deepEqual(
    { status: refused.status, error_type: refused.body.details.error_type },
    { status: 409, error_type: 'SessionInterrupted' },
  )
  assert.ok(Date.now() - since < 20_000)
  const late = { 'session-id': 's1' }
  assert.deepEqual(errorOf(await client.chat('four', { ...late, 'request-id': 'r4' })), [409, 'SessionInterrupted'])
  assert.deepEqual((await client.stream('five', late)).body.details.error_type, 'SessionInterrupted')
  const another = event('e2', { messages: [{ role: 'user', content: 'no' }], session_id: 's1' })
  assert.deepEqual(errorOf(await sendEvent(client, another)), [409, 'SessionInterrupted'])
  assert.equal((await client.run('r4')).status, 404)
  assert.equal((await client.session('s1')).body.messages.length, 1)
  assert.equal((await client.run(accepted.body.request_id)).body.status, 'pending')
  await decide(client, 'r1', callsIn(waiting)[0]!)
  assert.equal((await ended(client)).body.outcome.output, 'done')
  assert.equal((await ended(client, accepted.body.request_id)).body.outcome.output, 'next')
  assert.equal((await client.session('s1')).body.messages.length, 4)
})

test('Approval: the same decision again is 200, another 409; an unknown call is 404, a decided run 409', async (t) => {
  const { client, as } = await start(t)
  const [call] = callsIn(await client.chat('Go.', ids))
  assert.deepEqual(errorOf(await decide(client, 'r1', 'other')), [404, 'NotFound'])
  assert.deepEqual(errorOf(await decide(client, 'r9', call!)), [404, 'NotFound'])
  const bob = await as({ sub: 'bob', roles: ['admin'] })
  assert.deepEqual(errorOf(await decide(bob, 'r1', call!)), [404, 'NotFound'])
  const faults = [
    [{ decision: 'maybe' }, 'decision'],
    [{}, 'decision'],
    [{ decision: 'approve', tool_input: { cc: 'x', to: 'y' } }, 'tool_input'],
    [{ decision: 'approve', tool_input: { to: 1 } }, 'tool_input'],
    [{ decision: 'approve', tool_input: 'text' }, 'tool_input'],
    [{ decision: 'reject', tool_input: { to: 'Bob' } }, 'tool_input'],
    [{ decision: 'reject', reason: 'x'.repeat(4001) }, 'reason'],
    [{ decision: 'approve', note: 'x' }, 'note'],
    [{ decision: 'approve', tool_call_id: 'a\0' }, 'tool_call_id'],
  ] as const
  for (const [body, field] of faults) {
    const { status, body: refused } = await decide(client, 'r1', call!, body)
    assert.deepEqual(
      { status, loc: refused.detail?.[0].loc.slice(0, 2) },
      { status: 422, loc: ['body', field] },
      JSON.stringify([body, refused]),
    )
  }
  const deep = await client.request('POST', '/core/v1/runs/r1/approvals', {
    body: `{"tool_call_id": "${call!}", "decision": "approve", "tool_input": {"to": ${'['.repeat(5000)}${']'.repeat(5000)}}}`,
  })
  assert.deepEqual({ status: deep.status, msg: deep.body.detail[0].msg }, { status: 422, msg: 'is nested too deeply' })
  const unfit = await decide(client, 'r1', call!, { decision: 'approve', tool_input: { to: 1 } })
  assert.match(unfit.body.detail[0].msg, /to must be string/)
  assert.equal((await client.run('r1')).body.status, 'interrupted')
  assert.equal((await decide(client, 'r1', call!)).status, 200)
  assert.equal((await decide(client, 'r1', call!)).status, 200)
  assert.equal((await decide(client, 'r1', call!, { decision: 'approve', tool_input: { to: 'Bob' } })).status, 200)
  await ended(client)
  assert.equal((await decide(client, 'r1', call!)).status, 200)
  for (const other of [{ decision: 'reject' }, { decision: 'approve', tool_input: { to: 'Eve' } }]) {
    assert.deepEqual(errorOf(await decide(client, 'r1', call!, other)), [409, 'AlreadyDecided'])
  }
  assert.deepEqual(errorOf(await decide(client, 'r1', 'other')), [409, 'NotInterrupted'])
})

test('Approval: by role, another sub with runs.approve decides, never the caller, and sees only the listed fields', async (t) => {
  const roles = { approver: ['runs.approve'], watcher: ['runs.read', 'chat'] }
  const { as, sent } = await start(t, {
    traits: { approval: { by: 'role' } },
    config: { access: { roles } },
    script: [sendTo('Bob'), { text: 'done' }],
  })
  const ann = await as({ roles: ['admin'] })
  const [call] = callsIn(await ann.chat('A secret.', ids))
  const own = await decide(ann, 'r1', call!)
  assert.deepEqual(errorOf(own), [403, 'Forbidden'])
  assert.match(own.body.body, /^RBAC: access denied.*runs\.approve/)
  const eve = await as({ sub: 'eve', roles: ['approver'] })
  const list = (client: Client) => client.request('GET', '/core/v1/approvals')
  const listed = await list(eve)
  const { requested_at: requestedAt, expires_at: expiresAt, question, messages, ...listedCall } = listed.body.approvals[0]
  const described = {
    request_id: 'r1',
    session_id: 's1',
    tool_call_id: call,
    tool: 'send',
    tool_input: { to: 'Bob' },
    by: 'role',
    requested_by: 'ann',
    issuer: 'agent-core',
    sub: 'ann',
    may_decide: true,
  }
  assert.deepEqual({ question, messages }, { question: 'A secret.', messages: [{ role: 'human', content: 'A secret.' }] })
  assert.deepEqual({ listedCall, count: listed.body.count }, { listedCall: described, count: 1 })
  assert.equal(Date.parse(expiresAt) - Date.parse(requestedAt), 86_400_000)
  const [shown, ...rest] = (await list(ann)).body.approvals
  assert.deepEqual(shown, { ...listedCall, requested_at: requestedAt, expires_at: expiresAt, may_decide: false })
  assert.deepEqual(rest, [])
  for (const who of [
    { sub: 'bob', roles: ['user'] },
    { sub: 'eve', roles: ['approver'], tenant: 'other' },
  ]) {
    const other = await as(who)
    assert.equal((await list(other)).body.count, 0)
    assert.deepEqual(errorOf(await decide(other, 'r1', call!)), [404, 'NotFound'])
  }
  const watcher = await as({ sub: 'joe', roles: ['watcher'] })
  const refused = await decide(watcher, 'r1', call!)
  assert.equal(refused.status, 403)
  assert.match(refused.body.body, /runs\.write or runs\.approve/)
  assert.deepEqual((await list(watcher)).body, { approvals: [], count: 0, offset: '', has_more: false })
  const decided = await decide(eve, 'r1', call!)
  assert.equal(decided.status, 200, decided.text)
  assert.equal((await ended(ann)).body.outcome.output, 'done')
  const again = await decide(eve, 'r1', call!)
  assert.deepEqual(Object.keys(again.body).toSorted(), ['created_at', 'ended_at', 'request_id', 'session_id', 'started_at', 'status'])
  assert.ok(!again.text.includes('secret') && !again.text.includes('done'))
  assert.equal((await eve.run('r1')).status, 403)
  assert.deepEqual(sent, [{ to: 'Bob' }])
})

test('Approval: own calls are listed with may_decide, and with their question and messages only if it is true', async (t) => {
  const roles = Object.fromEntries(['runs.read', 'runs.write', 'runs.approve', 'sessions.read'].map((one) => [one, [one]]))
  const { client, as } = await start(t, {
    config: { access: { roles } },
    script: ({ body }) => (body.messages.at(-1).content.startsWith('Write') ? sendTo('A') : { text: 'b'.repeat(3000) }),
  })
  for (const text of ['one', 'two', 'three']) await client.chat(text, { 'session-id': 's1' })
  const question = `Write ${'🙂'.repeat(2000)}`
  await client.chat(question, ids)
  const list = (who: object) => as(who).then((of) => of.request('GET', '/core/v1/approvals'))
  const readBy = async (role: string) => (await list({ roles: [role] })).body.approvals[0]
  for (const role of ['user', 'runs.write', 'runs.approve']) {
    const call = await readBy(role)
    assert.equal(call.may_decide, true, role)
    assert.deepEqual(
      call.messages.map((message: { role: string; content: string }) => [message.role, message.content.slice(0, 5)]),
      [
        ['ai', 'bbbbb'],
        ['human', 'two'],
        ['ai', 'bbbbb'],
        ['human', 'three'],
        ['ai', 'bbbbb'],
        ['human', 'Write'],
      ],
    )
    assert.equal(call.messages[0].content, `${'b'.repeat(1999)}…`)
    assert.equal(call.question, call.messages.at(-1).content)
    assert.ok(call.question.length <= 2000 && call.question.isWellFormed() && call.question.endsWith('🙂…'))
  }
  for (const role of ['viewer', 'operator', 'runs.read']) {
    const { may_decide: mayDecide, ...call } = await readBy(role)
    assert.equal(mayDecide, false, role)
    assert.ok(!('question' in call) && !('messages' in call))
    assert.equal(call.tool_input.to, 'A')
  }
  assert.equal((await list({ roles: ['sessions.read'] })).status, 403)
  for (const who of [
    { sub: 'bob', roles: ['admin'] },
    { tenant: 'other', roles: ['admin'] },
  ]) {
    assert.equal((await list(who)).body.count, 0)
  }
})

test('Approval: a user decides its own calls, which others do not see; pages continue after a call', async (t) => {
  const { client, as } = await start(t, { script: sendTo('A', 'B') })
  const first = callsIn(await client.chat('One.', { 'request-id': 'r1' }))
  const second = callsIn(await client.chat('Two.', { 'request-id': 'r2' }))
  const list = async (of: Client, query = '') => (await of.request('GET', `/core/v1/approvals${query}`)).body
  const all = (await list(client)).approvals.map((one: { tool_call_id: string }) => one.tool_call_id)
  assert.deepEqual(all, [...second, ...first])
  const page = await list(client, `?limit=2&before=${all[0]}`)
  assert.deepEqual(
    { count: page.count, has_more: page.has_more, approvals: page.approvals.map((one: { tool_call_id: string }) => one.tool_call_id) },
    { count: 2, has_more: true, approvals: all.slice(1, 3) },
  )
  const last = await list(client, `?limit=2&before=${page.offset}`)
  assert.deepEqual([last.has_more, last.approvals.map((one: { tool_call_id: string }) => one.tool_call_id)], [false, all.slice(3)])
  assert.equal((await list(await as({ sub: 'bob', roles: ['admin'] }))).count, 0)
  for (const bad of ['?limit=0', '?limit=101', '?before=nothing', '?before=%20']) {
    assert.equal((await client.request('GET', `/core/v1/approvals${bad}`)).status, 422, bad)
  }
})

test('Approval: DELETE cancels an interrupted run; its session keeps its messages and is free again', async (t) => {
  const look = fakeTool('look', async () => 'seen')
  const turn = { text: 'I look, and write.', calls: [...callOf('look').calls, ...sendTo('A').calls] }
  const { client, sent, model, as } = await start(t, { tools: [look], script: [turn, { text: 'hello' }] })
  const operator = await as({ roles: ['operator'] })
  const [call] = callsIn(await client.chat('Go.', ids))
  const metrics = async () => (await operator.request('GET', '/core/v1/metrics')).body
  assert.deepEqual((await metrics()).status_value_counts, { success: 0, error: 0, cancelled: 0, timeout: 0 })
  assert.equal((await operator.request('GET', '/core/v1/logs')).body.total, 0)
  const cancelled = await cancel(client, 'r1')
  assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.approval_required], [200, 'cancelled', undefined])
  assert.deepEqual(errorOf(await cancel(client, 'r1')), [409, 'RunEnded'])
  assert.deepEqual(errorOf(await client.chat('Go.', ids)), [409, 'Cancelled'])
  assert.deepEqual(errorOf(await decide(client, 'r1', call!)), [409, 'NotInterrupted'])
  const { messages } = (await client.session('s1')).body
  assert.deepEqual(
    { messageCount: messages.length, finish_reason: messages[1].response_metadata.finish_reason },
    { messageCount: 2, finish_reason: 'cancelled' },
  )
  assert.deepEqual((await metrics()).status_value_counts.cancelled, 1)
  assert.equal((await client.request('GET', '/core/v1/approvals')).body.count, 0)
  assert.equal((await client.chat('Next.', { 'session-id': 's1' })).body.body.output, 'hello')
  const told = model.requests[1]!.body.messages.find((one: { tool_call_id?: string; content: string }) => /cancelled/.test(one.content))
  assert.match(told.content, /what was not approved was not done/)
  assert.deepEqual(sent, [])
})

test('Approval: waiting readers receive a cancellation and the deletion of the session', async (t) => {
  const { client } = await start(t, { script: sendTo('A') })
  await client.chat('Go.', ids)
  const log = await (await client.follow('r1')).rest()
  const waits = await client.follow('r1', log.at(-1)!.id)
  await cancel(client, 'r1')
  const rest = await waits.rest()
  assert.deepEqual({ restCount: rest.length, finish_reason: rest[0]!.chunk.finish_reason }, { restCount: 1, finish_reason: 'cancelled' })
  const other = { 'request-id': 'r2', 'session-id': 's2' }
  const [call] = callsIn(await client.chat('Go.', other))
  const end = (await (await client.follow('r2')).rest()).at(-1)!
  const stays = await client.follow('r2', end.id)
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s2')).status, 200)
  const [gone] = await stays.rest()
  assert.deepEqual(
    { finish_reason: gone!.chunk.finish_reason, error_type: gone!.chunk.error?.details?.error_type },
    { finish_reason: 'error', error_type: 'Gone' },
  )
  assert.deepEqual(errorOf(await decide(client, 'r2', call!)), [410, 'Gone'])
  assert.deepEqual(errorOf(await client.chat('Go.', other)), [410, 'Gone'])
  assert.equal((await client.request('GET', '/core/v1/approvals')).body.count, 0)
})

test('Approval: an undecided run is cancelled when it expires, and the next queued run starts', async (t) => {
  const { client, sent } = await start(t, { config: { approvals: { expire_after: 0.3 } }, script: [sendTo('A'), { text: 'next' }] })
  const [call] = callsIn(await client.chat('Go.', ids))
  assert.equal((await ended(client)).body.status, 'cancelled')
  assert.deepEqual(errorOf(await decide(client, 'r1', call!)), [409, 'NotInterrupted'])
  assert.equal((await client.chat('Next.', { 'session-id': 's1' })).body.body.output, 'next')
  assert.deepEqual(sent, [])
})

test('Approval: a resumed run may be interrupted again, and keeps its results when cancelled then', async (t) => {
  const { client, sent } = await start(t, { script: [sendTo('A'), sendTo('B'), { text: 'done' }] })
  const [first] = callsIn(await client.chat('Go.', ids))
  await decide(client, 'r1', first!)
  const again = await client.chat('Go.', ids)
  assert.deepEqual({ status: again.status, stepCount: again.body.body.intermediate_steps.length }, { status: 202, stepCount: 1 })
  const [second] = callsIn(again)
  assert.notEqual(second, first)
  assert.equal((await decide(client, 'r1', first!)).status, 200)
  const passed = (await (await client.follow('r1')).rest()).map(({ chunk }) => chunk.finish_reason)
  assert.deepEqual(
    { passed: passed.at(-1), passedCount: passed.filter((reason) => reason !== 'null').length },
    { passed: 'approval_required', passedCount: 1 },
  )
  await cancel(client, 'r1')
  const [, ai] = (await client.session('s1')).body.messages
  assert.deepEqual({ stepCount: ai.response_metadata.intermediate_steps.length, sent }, { stepCount: 1, sent: [{ to: 'A' }] })
})

test('Approval: an interrupted async run frees its worker, and its callback is sent at the end', async (t) => {
  const receiver = await startReceiver(t)
  const { client, sent } = await start(t, {
    environment: { OUTBOUND_ALLOW: receiver.host },
    config: { limits: { async_concurrency: 1 } },
    script: ({ body }) => {
      const { role, content } = body.messages.at(-1)
      return role === 'tool' ? { text: 'done' } : content === 'Go.' ? sendTo('A') : { text: 'other' }
    },
  })
  const send = (id: string, content: string) =>
    sendEvent(client, event(id, { messages: [{ role: 'user', content }], callback_url: receiver.url }), { 'request-id': id })
  await send('e1', 'Go.')
  const waiting = await until(
    () => client.run('e1'),
    ({ body }) => body.status === 'interrupted',
  )
  await send('e2', 'Other.')
  assert.equal((await ended(client, 'e2')).body.outcome.output, 'other')
  assert.deepEqual((await send('e1', 'Go.')).body.request_id, 'e1')
  assert.equal((await receiver.reaches(1)).body.id, 'e2')
  await decide(client, 'e1', callsIn(waiting)[0]!)
  assert.equal((await ended(client, 'e1')).body.outcome.output, 'done')
  assert.deepEqual(sent, [{ to: 'A' }])
  const { id, type, data } = (await receiver.reaches(2)).body
  assert.deepEqual({ id, type, output: data.body.output }, { id: 'e1', type: 'ai.service.agent.chain.completed', output: 'done' })
})

test('Approval: an async run cancelled between decision and worker keeps its results', async (t) => {
  const gate = gatedTool('wait')
  const { client, sent } = await start(t, {
    tools: [gate.tool],
    config: { limits: { async_concurrency: 1 } },
    script: ({ body }) => (body.messages.at(-1).content === 'Go.' ? { text: 'I write.', ...sendTo('A') } : callOf('wait')),
  })
  const send = (id: string, content: string) =>
    sendEvent(client, event(id, { messages: [{ role: 'user', content }] }), { 'request-id': id, 'session-id': id })
  await send('e1', 'Go.')
  const waiting = await until(
    () => client.run('e1'),
    ({ body }) => body.status === 'interrupted',
  )
  await send('e2', 'Wait.')
  await gate.entered
  assert.equal((await decide(client, 'e1', callsIn(waiting)[0]!)).body.status, 'pending')
  const cancelled = await cancel(client, 'e1')
  assert.equal(cancelled.body.status, 'cancelled', cancelled.text)
  const [, ai] = (await client.session('e1')).body.messages
  assert.deepEqual(
    { content: ai.content, finish_reason: ai.response_metadata.finish_reason, sent },
    { content: 'I write.', finish_reason: 'cancelled', sent: [] },
  )
  gate.open()
})

test('Approval: the expiry of an earlier interruption does not cancel a run that was decided in time', async (t) => {
  const { client, sent } = await start(t, { config: { approvals: { expire_after: 1.5 } }, script: [sendTo('A'), sendTo('B')] })
  const [call] = callsIn(await client.chat('Go.', ids))
  const first = Date.now()
  await new Promise((resolve) => setTimeout(resolve, 900))
  await decide(client, 'r1', call!)
  await until(
    () => client.run('r1'),
    ({ body }) => body.status === 'interrupted',
  )
  await new Promise((resolve) => setTimeout(resolve, first + 1900 - Date.now()))
  assert.equal((await client.run('r1')).body.status, 'interrupted')
  assert.equal((await ended(client)).body.status, 'cancelled')
  assert.deepEqual(sent, [{ to: 'A' }])
})

test('Approval: the execution time stops during an interruption and continues afterwards', async (t) => {
  const gate = gatedTool('wait')
  const { client, as } = await start(t, {
    tools: [gate.tool],
    config: { max_execution_time: 3 },
    script: [{ ...sendTo('A'), delayMs: 2000 }, callOf('wait'), { text: 'never' }],
  })
  const [call] = callsIn(await client.chat('Go.', ids))
  await new Promise((resolve) => setTimeout(resolve, 3200))
  const since = Date.now()
  await decide(client, 'r1', call!)
  assert.equal((await ended(client)).body.status, 'timeout')
  assert.ok(Date.now() - since < 2900, 'not a whole new time')
  const { max_latency: latency } = (await (await as({ roles: ['operator'] })).request('GET', '/core/v1/metrics')).body
  assert.ok(latency > 2.9 && latency < 5, `${latency}`)
})

test('Approval: interrupted runs count neither against the caller’s concurrent runs nor against the process limit', async (t) => {
  const { client } = await start(t, {
    config: { limits: { max_runs: 1 }, access: { rate_limits: { default: { concurrent_runs: 1 } } } },
    script: [sendTo('A'), { text: 'done' }],
  })
  assert.equal((await client.chat('Go.', ids)).status, 202)
  assert.equal((await client.chat('Go.', { 'session-id': 's2' })).status, 200)
})

test('Approval: a restart loses nothing; runs resume after decisions that follow', async (t) => {
  const { test: service, sent } = await start(t)
  const waiting = await service.client.chat('Go.', ids)
  await service.restart()
  assert.deepEqual((await service.client.chat('Go.', ids)).body, waiting.body)
  await decide(service.client, 'r1', callsIn(waiting)[0]!)
  assert.equal((await service.client.chat('Go.', ids)).body.body.output, 'It is done.')
  assert.deepEqual(sent, [{ to: 'Bob' }])
})
