import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Tool } from '../../src/agent/tool.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** A model of 1 USD for a million tokens of input, and 3 of output: an answer of 300 tokens after 100 costs 0.001 USD. */
const modelFields = { prices: { input: 1, output: 3 } }
const usage = { input: 100, output: 300 }
/** The first call of the model is paid, and the second one finds the budget used up. */
const refund = { ...callOf('refund', { order: 7 }), usage }
const answer = { text: ['It is done.'], usage }
const daily = { name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0015 }, on_exceeded: 'pause' }
const ids = { 'request-id': 'r1', 'session-id': 's1' }

/** A write tool that counts what it has done. */
function refunding() {
  const refunds: unknown[] = []
  const execute = async (input: unknown) => ({ refunded: refunds.push(input) })
  return { refunds, tool: fakeTool('refund', execute, { effect: 'write' }) }
}

async function start(
  t: TestContext,
  budgets: object[] = [daily],
  { config, tools = [], ...options }: ServiceOptions & { tools?: Tool[] } = {},
) {
  const { refunds, tool } = refunding()
  const service = await startService(t, {
    script: [refund, answer],
    modelFields,
    tools: [tool, ...tools],
    ...options,
    config: { budgets, ...config },
  })
  return { refunds, service, client: service.client, admin: await service.as({ sub: 'root', roles: ['admin'] }) }
}

const decide = (client: Client, body: object, id = 'r1') => client.request('POST', `/core/v1/runs/${id}/approvals`, { body })
const extend = (client: Client, usd = 0.01) => decide(client, { decision: 'extend', limit: { usd } })
const errorOf = ({ status, body }: Reply) => [status, body.details?.error_type]
const listed = async (client: Client) => (await client.request('GET', '/core/v1/approvals')).body.approvals
const waiting = (client: Client) =>
  until(
    () => client.run('r1'),
    ({ body }) => body.status === 'interrupted',
  )

test('Pause: a run whose budget is used up waits, survives a restart, and goes on when the limit is raised', async (t) => {
  const { service, client, refunds } = await start(t)
  const paused = await client.chat('Refund order 7.', ids)
  assert.equal(paused.status, 202, paused.text)
  const { budget_required: required } = paused.body
  const { needed, resets_at, ...rest } = required
  assert.deepEqual(rest, { request_id: 'r1', budget: 'caller-day' })
  assert.ok(needed.usd > 0.0007 && needed.usd < 0.001 && needed.tokens === undefined, JSON.stringify(needed))
  assert.match(resets_at, /T00:00:00.000Z$/)
  assert.equal(paused.body.approval_required, undefined)
  assert.deepEqual(
    paused.body.body.intermediate_steps.map((step: { tool: string }) => step.tool),
    ['refund'],
  )
  await service.restart()
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  assert.deepEqual((await service.client.run('r1')).body.budget_required, required)
  const decided = await extend(admin)
  assert.equal(decided.status, 200, decided.text)
  const done = await service.client.chat('Refund order 7.', ids)
  assert.deepEqual([done.status, done.body.body.output], [200, 'It is done.'])
  assert.deepEqual([refunds, service.model.requests.length], [[{ order: 7 }], 2])
})

test('Pause: a stream ends with the budget, is followed and replayed with the same chunk, and goes on behind it', async (t) => {
  const { client, admin } = await start(t)
  const stream = await client.stream('Refund order 7.', ids)
  const events = await stream.rest()
  const last = events.at(-1)!.chunk
  assert.deepEqual(
    [last.finish_reason, last.budget_required?.budget, last.approval_required],
    ['approval_required', 'caller-day', undefined],
  )
  const replayed = await (await client.stream('Refund order 7.', ids)).rest()
  assert.deepEqual(replayed.at(-1)!.chunk, last)
  assert.equal((await extend(admin)).status, 200)
  const whole = await (await client.stream('Refund order 7.', ids)).rest()
  assert.deepEqual(
    [whole.at(-1)!.chunk.finish_reason, whole.filter(({ chunk }) => chunk.token !== '').map(({ chunk }) => chunk.token)],
    ['stop', ['It is done.']],
  )
})

test('Pause: a rejection ends the run as stop does, also by its caller', async (t) => {
  const script = [{ ...refund, text: 'I refund it.' }, answer]
  const { client, refunds, service } = await start(t, [daily], { script })
  assert.equal((await client.chat('Refund order 7.', ids)).status, 202)
  assert.equal((await decide(client, { decision: 'reject' })).status, 200)
  const ended = await client.chat('Refund order 7.', ids)
  assert.deepEqual([ended.status, ended.body.body.output, refunds.length, service.model.requests.length], [200, 'I refund it.', 1, 1])
  const [, ai] = (await client.session('s1')).body.messages
  assert.equal(ai.response_metadata.finish_reason, 'budget_exceeded')
})

test('Pause: after a rejection no call offers tools, even when the limit was raised meanwhile', async (t) => {
  const budgets = [daily, { ...daily, name: 'run', scope: 'run', window: undefined }]
  const { client, admin, refunds, service } = await start(t, budgets)
  assert.equal((await client.chat('Refund order 7.', ids)).body.budget_required.budget, 'caller-day')
  await extend(admin)
  const second = await until(
    () => client.run('r1'),
    ({ body }) => body.budget_required?.budget === 'run',
  )
  assert.equal(second.body.budget_required.resets_at, undefined)
  const [wait] = await listed(client)
  assert.equal((await extend(admin, 0.0001)).status, 200)
  const third = await until(
    () => listed(client),
    ([again]) => again !== undefined && again.tool_call_id !== wait.tool_call_id,
  )
  assert.equal((await decide(client, { tool_call_id: third[0].tool_call_id, decision: 'reject' })).status, 200)
  const ended = await client.chat('Refund order 7.', ids)
  assert.deepEqual([...errorOf(ended), ended.body.details.budget], [429, 'BudgetExceeded', 'run'], ended.text)
  assert.deepEqual([refunds.length, service.model.requests.length], [1, 1])
})

test('Pause: the owner and callers with budgets.write see the wait; only the latter read no conversation and raise the limit', async (t) => {
  const { client, admin, service } = await start(t)
  await client.chat('Refund order 7.', ids)
  const [own] = await listed(client)
  const { tool, by, tool_input, may_decide, question, requested_by } = own
  assert.deepEqual(
    [tool, by, tool_input.budget, may_decide, question, requested_by],
    ['caller-day', 'budget', 'caller-day', true, 'Refund order 7.', 'ann'],
  )
  const [foreign] = await listed(admin)
  assert.deepEqual(
    [foreign.tool_call_id, foreign.may_decide, foreign.question, foreign.messages],
    [own.tool_call_id, true, undefined, undefined],
  )
  const bob = await service.as({ sub: 'bob' })
  assert.deepEqual([await listed(bob), errorOf(await extend(bob))], [[], [404, 'NotFound']])
  assert.deepEqual(errorOf(await extend(await service.as({ sub: 'root', tenant: 'acme', roles: ['admin'] }))), [404, 'NotFound'])
  assert.deepEqual(errorOf(await extend(client)), [403, 'Forbidden'])
  assert.deepEqual(errorOf(await extend(await service.as({ roles: ['viewer'] }))), [403, 'Forbidden'])
  assert.equal((await client.run('r1')).body.status, 'interrupted')
})

test('Pause: a decision is checked before anything changes, and may be sent twice', async (t) => {
  const { client, admin } = await start(t)
  await client.chat('Refund order 7.', ids)
  const [{ tool_call_id: call }] = await listed(client)
  const faults = async (body: object) => {
    const { status, body: refused } = await decide(admin, body)
    return [status, refused.detail?.[0].loc]
  }
  const at = (...path: string[]) => [422, ['body', ...path]]
  assert.deepEqual(await faults({ decision: 'extend', limit: { tokens: 10 } }), at('limit', 'tokens'))
  assert.deepEqual(await faults({ decision: 'extend', limit: {} }), at('limit'))
  assert.deepEqual(await faults({ decision: 'extend', limit: { usd: -1 } }), at('limit', 'usd'))
  assert.deepEqual(await faults({ decision: 'extend', limit: { usd: 1, eur: 1 } }), at('limit', 'eur'))
  assert.deepEqual(await faults({ decision: 'reject', limit: { usd: 1 } }), at('limit'))
  assert.deepEqual(await faults({ decision: 'approve' }), at('tool_call_id'))
  assert.deepEqual(await faults({ tool_call_id: call, decision: 'approve' }), at('decision'))
  assert.equal((await client.run('r1')).body.status, 'interrupted')
  const extension = { tool_call_id: call, decision: 'extend', limit: { usd: 0.01 } }
  assert.equal((await decide(admin, extension)).status, 200)
  assert.equal((await decide(admin, extension)).status, 200)
  assert.deepEqual(errorOf(await decide(admin, { ...extension, limit: { usd: 0.02 } })), [409, 'AlreadyDecided'])
  assert.equal((await client.chat('Refund order 7.', ids)).status, 200)
})

test('Pause: no sum of extensions raises a limit above the highest that agent.yaml may have', async (t) => {
  const run = { name: 'run', scope: 'run', limit: { usd: 0.0015 }, on_exceeded: 'pause' }
  const { client, admin } = await start(t, [run], { script: [refund, refund, answer] })
  await client.chat('Refund order 7.', ids)
  const { status, body } = await extend(admin, 1_000_000)
  assert.deepEqual([status, body.detail?.[0].loc], [422, ['body', 'limit', 'usd']])
  assert.match(body.detail[0].msg, /^raises the limit of budget run above 1000000 usd/)
  const [window] = (await client.request('GET', '/core/v1/budgets?request_id=r1')).body.budgets
  assert.deepEqual([window.limit, window.override, (await client.run('r1')).body.status], [{ usd: 0.0015 }, undefined, 'interrupted'])
  assert.equal((await extend(admin, 999_999)).status, 200)
})

test('Pause: a caller gets no more than the tenant has, and limits of the tenant are raised by the service alone', async (t) => {
  const tenant = { name: 'tenant-day', scope: 'tenant', window: 'day', limit: { usd: 0.002 } }
  const { client, admin } = await start(t, [daily, tenant])
  await client.chat('Refund order 7.', ids)
  const above = await extend(admin, 0.001)
  assert.deepEqual(errorOf(above), [409, 'AboveTenantBudget'], above.text)
  assert.equal((await client.run('r1')).body.status, 'interrupted')
  assert.equal((await extend(admin, 0.0005)).status, 200)
  const acme = await startAcme(t)
  assert.deepEqual(errorOf(await extend(acme.admin)), [403, 'Forbidden'])
  // The run goes on where the limit is raised otherwise, such as by another window.
  assert.equal((await decide(acme.client, { decision: 'extend' })).status, 200)
  const again = await until(
    () => listed(acme.client),
    ([wait]) => wait !== undefined && wait.tool_call_id !== acme.call,
  )
  assert.equal(again[0].tool, 'tenant-day')
})

async function startAcme(t: TestContext) {
  const { service } = await start(t, [{ ...daily, name: 'tenant-day', scope: 'tenant' }])
  const client = await service.as({ tenant: 'acme' })
  assert.equal((await client.chat('Refund order 7.', ids)).status, 202)
  const [{ tool_call_id: call }] = await listed(client)
  return { client, call, admin: await service.as({ tenant: 'acme', sub: 'root', roles: ['admin'] }) }
}

test('Pause: an asynchronous run reports the budget, and goes on in any process', async (t) => {
  const receiver = await startReceiver(t)
  const messages = [{ role: 'user', content: 'Refund order 7.' }]
  const { client, admin, refunds } = await start(t, [daily], { environment: { OUTBOUND_ALLOW: receiver.host } })
  const { status } = await sendEvent(
    client,
    event('e1', { messages, callback_url: receiver.url, callback_events: ['ai.service.agent.chain.interrupted'] }),
    ids,
  )
  assert.equal(status, 200)
  await waiting(client)
  assert.equal((await receiver.reaches(1)).body.data.budget_required.budget, 'caller-day')
  assert.equal((await extend(admin)).status, 200)
  const end = await receiver.reaches(2)
  assert.deepEqual([end.body.data.body.output, refunds.length], ['It is done.', 1])
})

test('Pause: the wait expires like an approval', async (t) => {
  const { client, admin } = await start(t, [daily], { config: { approvals: { expire_after: 1 } } })
  await client.chat('Refund order 7.', ids)
  const { body } = await until(
    () => client.run('r1'),
    (run) => run.body.ended_at !== null,
  )
  assert.equal(body.status, 'cancelled')
  assert.deepEqual(errorOf(await extend(admin)), [409, 'NotInterrupted'])
})

test('Pause: sub-agents that work in parallel wait for one budget once, and go on from where they were', async (t) => {
  const worker = { name: 'worker', description: 'Works.', objective: 'Work.', tools: [] }
  const both = {
    calls: [callOf('sub_agent_worker', { task: 'a' }), callOf('sub_agent_worker', { task: 'b' })].flatMap(({ calls }) => calls),
    usage,
  }
  const { client, admin, service } = await start(t, [{ ...daily, name: 'run', scope: 'run', window: undefined }], {
    script: [both, { text: ['done'], usage }],
  })
  assert.equal((await client.request('POST', '/core/v1/chain/sub_agents', { body: worker })).status, 200)
  const paused = await client.chat('Work twice.', ids)
  assert.equal(paused.status, 202, paused.text)
  assert.equal((await listed(client)).length, 1)
  assert.equal((await extend(admin, 0.05)).status, 200)
  const done = await client.chat('Work twice.', ids)
  assert.deepEqual([done.status, done.body.body.output, service.model.requests.length], [200, 'done', 4], done.text)
})

test('Pause: the trace shows how long the run waited for its budget, and who raised the limit', async (t) => {
  const { client, admin } = await start(t)
  await client.chat('Refund order 7.', ids)
  await extend(admin)
  await client.chat('Refund order 7.', ids)
  const { spans } = (await client.request('GET', '/core/v1/runs/r1/trace')).body
  const named = (kind: string) => spans.find((span: { kind: string }) => span.kind === kind)
  const wait = named('wait')
  assert.deepEqual([wait.name, wait.attributes.for, wait.status], ['Waiting for a budget', 'budget', 'success'])
  const { name, attributes } = named('approval')
  const { by, decision, new_input, decided_by } = attributes
  assert.deepEqual([name, by, decision, new_input, decided_by.sub], ['caller-day', 'budget', 'extend', { usd: 0.01 }, 'root'])
})
