import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callsIn, cancel, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'
import { draw, traceOf, type ReceivedSpan } from '../fixtures/trace.ts'

const ids = { 'request-id': 'r1', 'session-id': 's1' }
const usage = { input: 10, output: 5, cached: 4 }
const ofKind = (spans: readonly ReceivedSpan[], kind: string) => spans.filter((span) => span.kind === kind)

test('Run trace: a chat with a tool has turns, model calls and the tool call', async (t) => {
  const script = [
    { ...callOf('look', { at: 'A' }), usage },
    { text: ['A is', ' 1.'], reasoning: 'I know.', usage },
  ]
  const { client } = await startService(t, { script, tools: [fakeTool('look', async () => ({ a: 1 }))] })
  await client.chat('What is A?', ids)
  const { status, spans } = await traceOf(client, 'r1')
  assert.equal(status, 'success')
  assert.deepEqual(draw(spans), [
    'run chain: success',
    '  turn Turn 1: success',
    '    model scripted: success',
    '    tool look: success',
    '  turn Turn 2: success',
    '    model scripted: success',
  ])
  const [root, , first, tool, , second] = spans.map(({ attributes }) => attributes)
  assert.deepEqual([root.input_tokens, root.output_tokens, root.model_calls, root.session_id], [20, 10, 2, 's1'])
  assert.deepEqual({ ...tool, log: '' }, { tool: 'look', tool_input: { at: 'A' }, output: { a: 1 }, effect: 'read', log: '' })
  const { model, input_tokens, output_tokens, cached_input_tokens, cost, time_to_first_token, attempts } = first
  assert.deepEqual([model, input_tokens, output_tokens, cached_input_tokens, cost, time_to_first_token], ['scripted', 10, 5, 4, null, null])
  assert.deepEqual(
    attempts.map((attempt: { model: string; status: string }) => [attempt.model, attempt.status]),
    [['scripted', 'success']],
  )
  assert.deepEqual([second.output, second.reasoning, second.finish_reason], ['A is 1.', 'I know.', 'stop'])
  assert.ok(second.time_to_first_token >= 0)
  for (const { started_at, ended_at } of spans) assert.ok(ended_at !== null && started_at <= ended_at)
})

test('Run trace: a model call has its messages on request, as the model was sent them', async (t) => {
  const script = [{ text: 'Hello.' }, callOf('look', { at: 'A' }), { text: 'A is 1.' }]
  const { client, model } = await startService(t, { script, tools: [fakeTool('look', async () => 'one')] })
  await client.chat('Hi.', { ...ids, 'request-id': 'r0' })
  await client.chat('What is A?', ids)
  const { spans } = await traceOf(client, 'r1')
  const last = ofKind(spans, 'model').at(-1)!
  assert.equal(last.messages, undefined)
  const detail = await traceOf(client, 'r1', `?span=${encodeURIComponent(last.id)}`)
  assert.deepEqual(
    detail.spans.map(({ id }) => id),
    [last.id],
  )
  const sent = model.requests.at(-1)!.body.messages.filter(({ role }: { role: string }) => role !== 'system')
  assert.deepEqual(
    detail.spans[0]!.messages!.map(({ role, content }) => [role, content]),
    sent.map(({ role, content }: { role: string; content: string | null }) => [role, content ?? '']),
  )
  const [, , , call, result] = detail.spans[0]!.messages!
  assert.deepEqual([call.tool_calls[0].tool, call.tool_calls[0].arguments], ['look', '{"at":"A"}'])
  assert.equal(result.tool_call_id, call.tool_calls[0].tool_call_id)
  const missing = await client.request('GET', '/core/v1/runs/r1/trace?span=model:9')
  assert.deepEqual([missing.status, missing.body.body], [404, 'The run r1 has no span model:9.'])
})

test('Run trace: long values are cut and marked, and whole on request', async (t) => {
  const text = 'x'.repeat(15_000)
  const script = [callOf('look', { at: 'A' }), { text: 'Done.' }]
  const { client } = await startService(t, { script, tools: [fakeTool('look', async () => ({ text }))] })
  await client.chat('Go.', ids)
  const [tool] = ofKind((await traceOf(client, 'r1')).spans, 'tool')
  assert.equal(tool!.attributes.truncated, true)
  assert.equal(tool!.attributes.output, `{"text":"${text}`.slice(0, 4000))
  assert.deepEqual(tool!.attributes.tool_input, { at: 'A' })
  const [whole] = (await traceOf(client, 'r1', `?span=${tool!.id}`)).spans
  assert.deepEqual([whole!.attributes.output, whole!.attributes.truncated], [{ text }, undefined])
})

test('Run trace: failed attempts, their reasons and the fallback', async (t) => {
  const backup = await startModelServer({ text: 'From the fallback.', usage })
  t.after(() => backup.close())
  const first = await startModelServer({ status: 500, body: 'secret-key-1' })
  t.after(() => first.close())
  const toModel = (model: string, url: string, more: object = {}) => ({ provider: 'openai-compatible', model, base_url: url, ...more })
  const prices = { prices: { input: 1, output: 2 } }
  const llms = { primary: toModel('first', first.url, { api_key: '${FIRST_KEY}' }), fallback: [toModel('backup', backup.url, prices)] }
  const { client } = await startService(t, { config: { llms }, environment: { FIRST_KEY: 'secret-key-1' } })
  const reply = await client.chat('Go.', ids)
  assert.equal(reply.status, 200, reply.text)
  const { spans } = await traceOf(client, 'r1')
  const [call] = ofKind(spans, 'model')
  const { model, fallback, attempts, cost } = call!.attributes
  assert.deepEqual([call!.name, model, fallback, cost], ['backup', 'backup', true, 0.00002])
  assert.deepEqual(
    attempts.map((attempt: any) => [attempt.model, attempt.status, attempt.error_type ?? null]),
    [
      ['first', 'error', 'unavailable'],
      ['first', 'error', 'unavailable'],
      ['first', 'error', 'unavailable'],
      ['backup', 'success', null],
    ],
  )
  assert.match(attempts[0].error, /first answered 500/)
  assert.doesNotMatch(JSON.stringify(spans), /secret-key-1/)
})

test('Run trace: a run whose model fails has the failed call and the error', async (t) => {
  const { client } = await startService(t, { script: { status: 400, body: 'no' } })
  assert.equal((await client.chat('Go.', ids)).status, 502)
  const { status, spans } = await traceOf(client, 'r1')
  assert.equal(status, 'error')
  assert.deepEqual(draw(spans), ['run chain: error', '  turn Turn 1: error', '    model scripted: error'])
  assert.equal(spans[0]!.attributes.error_type, 'ModelUnavailable')
  assert.match(spans[2]!.attributes.error, /answered 400/)
  assert.deepEqual((await traceOf(client, 'r1', '?span=model:1')).spans[0]!.messages, [{ role: 'user', content: 'Go.' }])
})

test('Run trace: a live run grows, and a cancel in the middle of a tool shows what was cut off', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: callOf('wait') })
  const chat = client.chat('Go.', ids)
  await gate.entered
  const live = await traceOf(client, 'r1')
  assert.deepEqual(
    [live.status, ...draw(live.spans)],
    ['running', 'run chain: running', '  turn Turn 1: running', '    model scripted: success', '    tool wait: running'],
  )
  assert.deepEqual(
    live.spans.map(({ ended_at }) => ended_at === null),
    [true, true, false, true],
  )
  await cancel(client, 'r1')
  await chat
  const { spans } = await traceOf(client, 'r1')
  assert.deepEqual(draw(spans), [
    'run chain: cancelled',
    '  turn Turn 1: cancelled',
    '    model scripted: success',
    '    tool wait: cancelled',
  ])
  for (const { ended_at } of spans) assert.notEqual(ended_at, null)
})

test('Run trace: an approval is asked, decided by somebody, and the run goes on in the same turn', async (t) => {
  const { tool } = sending()
  const { client } = await startService(t, { script: [sendTo('Bob'), { text: 'Done.' }], tools: [tool] })
  const [call] = callsIn(await client.chat('Write to Bob.', ids))
  const waiting = (await traceOf(client, 'r1')).spans
  assert.deepEqual(draw(waiting), [
    'run chain: waiting',
    '  turn Turn 1: waiting',
    '    model scripted: success',
    '    approval send: waiting',
    '  wait Waiting for approval: waiting',
  ])
  await decide(client, 'r1', call!, { decision: 'approve', tool_input: { to: 'Eve' } })
  await client.chat('Write to Bob.', ids)
  const { spans } = await traceOf(client, 'r1')
  assert.deepEqual(draw(spans), [
    'run chain: success',
    '  turn Turn 1: success',
    '    model scripted: success',
    '    approval send: success',
    '    tool send: success',
    '  wait Waiting for approval: success',
    '  turn Turn 2: success',
    '    model scripted: success',
  ])
  const { decision, decided_by, by, new_input, tool_call_id } = ofKind(spans, 'approval')[0]!.attributes
  const sub = decided_by.sub
  assert.deepEqual([decision, by, new_input, tool_call_id, sub], ['approve', 'caller', { to: 'Eve' }, call, 'ann'])
  assert.deepEqual([ofKind(spans, 'tool')[0]!.attributes.effect, ofKind(spans, 'tool')[0]!.attributes.tool_input], ['write', { to: 'Eve' }])
})

test('Run trace: a plan has its steps, each with its turns', async (t) => {
  const script = ({ body }: ModelServerRequest): ModelAnswer => {
    const asked: string = body.messages.findLast((message: { role: string }) => message.role === 'user').content
    if (asked.includes('make a plan')) return { text: '["Look up A.", "Look up B."]' }
    if (body.messages.at(-1).role === 'tool') return { text: 'A is 1.' }
    if (asked.startsWith('Step 1')) return callOf('look', { at: 'A' })
    if (asked.startsWith('Step 2')) return { text: 'FAILED: B is not there.' }
    return asked.startsWith('This step failed') ? { text: '[]' } : { text: 'A is 1.' }
  }
  const config = { workflow_type: 'plan_execute', sub_agents: { may_create: false } }
  const { client, model } = await startService(t, { script, config, tools: [fakeTool('look', async () => 1)] })
  await client.chat('What are A and B?', ids)
  const { spans } = await traceOf(client, 'r1')
  assert.deepEqual(draw(spans), [
    'run chain: success',
    '  plan Plan: success',
    '    turn Turn 1: success',
    '      model scripted: success',
    '  plan Step 1 of 2: Look up A.: success',
    '    turn Turn 2: success',
    '      model scripted: success',
    '      tool look: success',
    '    turn Turn 3: success',
    '      model scripted: success',
    '  plan Step 2 of 2: Look up B.: error',
    '    turn Turn 4: success',
    '      model scripted: success',
    '  plan Change of the plan: success',
    '    turn Turn 5: success',
    '      model scripted: success',
    '  turn Turn 6: success',
    '    model scripted: success',
  ])
  const sent = (await traceOf(client, 'r1', '?span=model:3')).spans[0]!.messages!
  const requested = model.requests[2]!.body.messages.filter(({ role }: { role: string }) => role === 'tool')
  assert.deepEqual([sent[0].content, sent.at(-1).content], ['What are A and B?', requested.at(-1).content])
})

test('Run trace: sub-agents are nested, with turns and tools of their own', async (t) => {
  const script = ({ body }: ModelServerRequest): ModelAnswer => {
    const isHelper = /You are the sub-agent/.test(body.messages[0].content)
    const hasResult = body.messages.at(-1).role === 'tool'
    if (isHelper) return hasResult ? { text: 'It is there.' } : callOf('look')
    if (hasResult) return { text: 'Done.' }
    return { calls: ['a', 'b'].map((task) => ({ name: 'sub_agent_helper', arguments: JSON.stringify({ task }) })) }
  }
  const { client } = await startService(t, {
    script,
    config: { sub_agents: { may_create: false } },
    tools: [fakeTool('look', async () => 'seen')],
  })
  const body = { name: 'helper', description: 'Helps.', objective: 'Help.', tools: ['look'] }
  await client.request('POST', '/core/v1/chain/sub_agents', { body })
  await client.chat('Go.', ids)
  const { spans } = await traceOf(client, 'r1')
  const helper = [
    '    sub_agent sub_agent:helper: success',
    '      turn Turn 1: success',
    '        model scripted: success',
    '        tool look: success',
    '      turn Turn 2: success',
    '        model scripted: success',
  ]
  assert.deepEqual(draw(spans), [
    'run chain: success',
    '  turn Turn 1: success',
    '    model scripted: success',
    ...helper,
    ...helper,
    '  turn Turn 2: success',
    '    model scripted: success',
  ])
  const [first] = ofKind(spans, 'sub_agent')
  const turns = ofKind(spans, 'turn').filter(({ parent_id }) => parent_id === first!.id)
  const [last] = ofKind(spans, 'model').filter(({ parent_id }) => parent_id === turns.at(-1)!.id)
  assert.deepEqual(
    (await traceOf(client, 'r1', `?span=${last!.id}`)).spans[0]!.messages!.map(({ role, content }) => [role, content]),
    [
      ['user', first!.attributes.tool_input.task],
      ['assistant', ''],
      ['tool', 'seen'],
    ],
  )
})

test('Run trace: an asynchronous run waits in the queue of its session first', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'One.' }, { text: 'Two.' }] })
  const chat = client.chat('First.', { 'session-id': 's1', 'request-id': 'r0' })
  await gate.entered
  const messages = [{ role: 'user', content: 'Second.' }]
  await sendEvent(client, event('e1', { messages }), ids)
  assert.deepEqual(draw((await traceOf(client, 'r1')).spans), ['run chain_async: waiting', '  wait Waiting for the session: waiting'])
  gate.open()
  await chat
  await until(
    () => client.run('r1'),
    ({ body }) => body.ended_at !== null,
  )
  const { spans } = await traceOf(client, 'r1')
  assert.deepEqual(draw(spans), [
    'run chain_async: success',
    '  wait Waiting for the session: success',
    '  turn Turn 1: success',
    '    model scripted: success',
  ])
  assert.deepEqual(spans[1]!.attributes, { for: 'queue' })
})

test('Run trace: other callers do not find the run; an administrator reads every run of the tenant', async (t) => {
  const { as, client } = await startService(t, { script: { text: 'secret' } })
  await client.chat('Hi.', ids)
  const bob = await as({ sub: 'bob', roles: ['operator', 'user'] })
  const stranger = await as({ tenant: 'other', roles: ['admin'] })
  const ada = await as({ sub: 'ada', roles: ['admin'] })
  const statusFor = async (caller: typeof client, query = '') => (await caller.request('GET', `/core/v1/runs/r1/trace${query}`)).status
  for (const query of ['', '?sub=ann', '?issuer=agent-core&sub=ann']) {
    assert.deepEqual([await statusFor(bob, query), await statusFor(stranger, query)], [404, 404], query)
    assert.deepEqual((await traceOf(ada, 'r1', query)).spans, (await traceOf(client, 'r1')).spans)
  }
  await bob.chat('Hi.', ids)
  const ambiguous = await ada.request('GET', '/core/v1/runs/r1/trace')
  assert.deepEqual([ambiguous.status, ambiguous.body.details.error_type], [409, 'AmbiguousRun'])
  await client.request('DELETE', '/core/v1/sessions/s1')
  assert.equal(await statusFor(client), 410)
})
