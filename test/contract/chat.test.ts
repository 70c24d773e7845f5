import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted, startService } from '../fixtures/service.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const user = (content: string) => ({ role: 'user', content })

test('Chat: the answer has input, output, steps in order of start, and usage', async (t) => {
  const add = fakeTool('add', async (_input, { log }) => {
    log('adding')
    return { sum: 3 }
  })
  const { client } = await startService(t, {
    tools: [add],
    script: [
      { ...callOf('add', { a: 1, b: 2 }), text: 'Let me add.', usage: { input: 10, output: 5, cached: 4 } },
      { text: ['It is ', '3.'], usage: { input: 20, output: 7, reasoning: 2 } },
    ],
  })
  const { status, body } = await client.chat('1 + 2?')
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['body'])
  assert.deepEqual(Object.keys(body.body), ['input', 'output', 'intermediate_steps', 'usage', 'generated_artifacts'])
  assert.deepEqual({ input: body.body.input, output: body.body.output }, { input: '1 + 2?', output: 'It is 3.' })
  const [step] = body.body.intermediate_steps
  const { execution_time, started_at, ...rest } = step
  assert.deepEqual(rest, {
    tool: 'add',
    tool_input: { a: 1, b: 2 },
    log: 'adding\nDone.',
    type: 'tool_call',
    output: { sum: 3 },
    status: 'success',
  })
  assert.ok(execution_time >= 0 && execution_time < 5)
  assert.match(started_at, /^\d{4}-\d\d-\d\dT.*Z$/)
  const [tokens, seconds] = body.body.usage
  assert.deepEqual(tokens, {
    costAttribute: 'scripted',
    usage: 42,
    unit: 'tokens',
    details: { input: 30, output: 12, cached_input: 4, reasoning: 2 },
  })
  assert.deepEqual(
    { costAttribute: seconds.costAttribute, unit: seconds.unit, usageCount: body.body.usage.length },
    { costAttribute: 'tool:add', unit: 'seconds', usageCount: 2 },
  )
})

test('Chat: with configured prices, usage has the cost in USD', async (t) => {
  const model = await startModelServer({ text: 'ok', usage: { input: 1_000_000, output: 500_000, cached: 200_000 } })
  t.after(() => model.close())
  const prices = { input: 2, output: 10, cached_input: 0.5 }
  const { client } = await startService(t, { config: { llms: { primary: { ...scripted(model), prices } } } })
  const { usage } = (await client.chat('hello')).body.body
  assert.deepEqual(usage[1], { costAttribute: 'scripted', usage: 0.8 * 2 + 0.2 * 0.5 + 0.5 * 10, unit: 'USD' })
})

test('Chat: a failing, unknown or wrongly called tool is a step with status error that the model sees', async (t) => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const fails = fakeTool('fails', async () => Promise.reject(new Error('out of paper')))
  const strict = fakeTool('strict', async () => ({}), { schema })
  const calls = [
    { name: 'fails', arguments: '{}' },
    { name: 'nothing', arguments: '{}' },
    { name: 'strict', arguments: '{"n": "x"}' },
    { name: 'strict', arguments: '{"n": ' },
  ]
  const { client, model } = await startService(t, { tools: [fails, strict], script: [{ calls }, { text: 'sorry' }] })
  const { status, body } = await client.chat('go')
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'sorry' })
  assert.deepEqual(
    body.body.intermediate_steps.map((step: { status: string }) => step.status),
    ['error', 'error', 'error', 'error'],
  )
  assert.deepEqual(body.body.intermediate_steps[0].output, { error: 'out of paper' })
  const told = model.requests[1]?.body.messages.slice(-4).map((message: { content: string }) => message.content)
  assert.match(told[0], /out of paper/)
  assert.match(told[1], /no tool nothing/)
  assert.match(told[2], /n must be number/)
  assert.match(told[3], /not a JSON object/)
})

test('Chat: read calls of one turn run in parallel, write calls one after another', async (t) => {
  const together: number[] = []
  let running = 0
  const work = async () => {
    together.push(++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    return {}
  }
  const calls = (name: string) => ({ calls: [1, 2, 3].map(() => ({ name, arguments: '{}' })) })
  const tools = [fakeTool('look', work), fakeTool('change', work, { effect: 'write' })]
  const { client } = await startService(t, { tools, script: [calls('look'), calls('change'), { text: 'done' }] })
  await client.chat('go')
  assert.deepEqual(together, [1, 2, 3, 1, 1, 1])
})

test('Chat: thinking is a reasoning step and not part of the answer', async (t) => {
  const { client } = await startService(t, { script: { reasoning: ['hm', 'm'], text: 'yes' } })
  const { output, intermediate_steps } = (await client.chat('really?')).body.body
  assert.equal(output, 'yes')
  assert.deepEqual(
    { stepCount: intermediate_steps.length, type: intermediate_steps[0].type, log: intermediate_steps[0].log },
    { stepCount: 1, type: 'reasoning', log: 'hmm' },
  )
})

test('Chat: roles user, human, assistant, ai and system are accepted; another role is 422', async (t) => {
  const { client, model } = await startService(t, { script: {}, config: { instructions: 'Be kind.' } })
  const turns = [
    { role: 'system', content: 'Speak French.' },
    { role: 'human', content: 'one' },
    { role: 'ai', content: 'un' },
    { role: 'user', content: 'two' },
    { role: 'assistant', content: 'deux' },
    { role: 'human', content: 'three' },
  ]
  assert.equal((await client.chat({ messages: turns })).body.body.input, 'three')
  const shown = model.requests[0]?.body.messages
  assert.deepEqual(
    shown.map((message: { role: string }) => message.role),
    ['system', 'user', 'assistant', 'user', 'assistant', 'user'],
  )
  assert.match(shown[0].content, /Be kind\.[\s\S]*Speak French\./)
  for (const role of ['tool', 'developer', '']) {
    const refused = await client.chat({ messages: [{ role, content: 'x' }, user('y')] })
    assert.deepEqual(
      { status: refused.status, loc: refused.body.details.errors[0].loc },
      { status: 422, loc: ['body', 'messages', 0, 'role'] },
    )
  }
})

test('Chat: no message, or a last message that is not of the user, is 422', async (t) => {
  const { client, model } = await startService(t, { script: {} })
  for (const messages of [undefined, [], [user('a'), { role: 'assistant', content: 'b' }], [{ role: 'system', content: 'c' }]]) {
    const { status, body } = await client.chat({ messages })
    assert.deepEqual(
      { status, status_code: body.status_code, error_type: body.details.error_type },
      { status: 422, status_code: 422, error_type: 'ValidationError' },
    )
    assert.deepEqual(body.details.errors[0].loc.slice(0, 2), ['body', 'messages'])
  }
  assert.equal(model.requests.length, 0)
})

test('Chat: turns of the request become the first messages of a new session', async (t) => {
  const { client, model } = await startService(t, { script: {} })
  const messages = [{ role: 'system', content: 'Be brief.' }, user('one'), { role: 'assistant', content: 'un' }, user('two')]
  await client.chat({ messages }, { 'session-id': 's' })
  const { body } = await client.session('s')
  assert.deepEqual(
    body.messages.map(({ role, content }: { role: string; content: string }) => [role, content]),
    [
      ['human', 'one'],
      ['ai', 'un'],
      ['human', 'two'],
      ['ai', 'ok'],
    ],
  )
  assert.equal(body.short_name, 'one')
  await client.chat('three', { 'session-id': 's' })
  const shown = model.requests[1]?.body.messages
  assert.deepEqual(
    shown.map((message: { content: string }) => message.content.trim()),
    ['Be brief.', 'one', 'un', 'two', 'ok', 'three'],
  )
})

test('Chat: in a session with history, turns of the request are context of that run only', async (t) => {
  const { client, model } = await startService(t, { script: {} })
  const ids = { 'session-id': 's' }
  await client.chat('first', ids)
  await client.chat({ messages: [user('brought'), { role: 'assistant', content: 'too' }, user('second')] }, ids)
  await client.chat('third', ids)
  const contents = (index: number) => model.requests[index]?.body.messages.map((message: { content: string }) => message.content)
  assert.deepEqual(contents(1), ['first', 'ok', 'brought', 'too', 'second'])
  assert.deepEqual(contents(2), ['first', 'ok', 'second', 'ok', 'third'])
  const { body } = await client.session('s')
  assert.deepEqual(
    body.messages.map((message: { content: string }) => message.content),
    ['first', 'ok', 'second', 'ok', 'third', 'ok'],
  )
})

test('Chat: unknown fields are ignored, null stands for absent', async (t) => {
  const { client } = await startService(t, { script: {} })
  const body = {
    messages: [{ ...user('hi'), name: 'x' }],
    stream: true,
    temperature: 3,
    images: null,
    data_filter_hints: null,
    session_id: null,
  }
  assert.equal((await client.chat(body)).status, 200)
})

test('Chat: invalid images and context files are a 400 that says so', async (t) => {
  const { client, model } = await startService(t, { script: {} })
  const image = { type: 'base64', content: 'aGVsbG8=' }
  for (const extra of [{ images: [image] }, { context_files: ['a.txt'] }]) {
    const { status, body } = await client.chat({ messages: [user('x')], ...extra })
    assert.deepEqual({ status, status_code: body.status_code }, { status: 400, status_code: 400 })
    assert.match(body.body, new RegExp(Object.keys(extra)[0]!))
  }
  assert.equal((await client.chat({ messages: [user('x')], images: [{ ...image, type: 'url' }] })).status, 422)
  assert.equal(model.requests.length, 0)
})

test('Chat: text over max_input_characters is 413 MaxInputException', async (t) => {
  const { client } = await startService(t, { script: {}, config: { limits: { max_input_characters: 10 } } })
  assert.equal((await client.chat('0123456789')).status, 200)
  const { status, body } = await client.chat({ messages: [user('012345'), { role: 'assistant', content: '6' }, user('7890')] })
  assert.deepEqual({ status, details: body.details }, { status: 413, details: { error_type: 'MaxInputException' } })
  assert.equal((await client.stream('0123456789a')).status, 413)
})

test('Chat: a chat with max_iterations model calls, the last without tools, ends with the best answer and status success', async (t) => {
  const look = fakeTool('look', async () => ({}))
  const { client, model } = await startService(t, {
    tools: [look],
    config: { max_iterations: 3 },
    script: (request) => (request.body.tools ? { ...callOf('look'), text: 'looking' } : { text: 'so far' }),
  })
  const { status, body } = await client.chat('go', { 'request-id': 'r' })
  assert.deepEqual(
    { status, output: body.body.output, stepCount: body.body.intermediate_steps.length },
    { status: 200, output: 'so far', stepCount: 2 },
  )
  assert.deepEqual(
    model.requests.map((request) => request.body.tools !== undefined),
    [true, true, false],
  )
  assert.equal((await client.run('r')).body.status, 'success')
  assert.equal((await (await client.follow('r')).rest()).at(-1)?.chunk.finish_reason, 'max_iterations')
})

test('Chat: an answer cut by its length has status success and finish reason length', async (t) => {
  const { client } = await startService(t, { script: { text: 'abc', finish: 'length' } })
  assert.equal((await client.chat('go', { 'request-id': 'r' })).body.body.output, 'abc')
  assert.equal((await client.run('r')).body.status, 'success')
  assert.equal((await (await client.follow('r')).rest()).at(-1)?.chunk.finish_reason, 'length')
})

test('Chat: a chat over max_execution_time ends with the best answer so far and status timeout', async (t) => {
  const { client, model } = await startService(t, { script: { text: ['so', ' far'], silentAfter: 3 }, config: { max_execution_time: 0.3 } })
  const { status, body } = await client.chat('go', { 'request-id': 'r', 'session-id': 's' })
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'so far' })
  const run = (await client.run('r')).body
  assert.deepEqual({ status: run.status, output: run.outcome.output }, { status: 'timeout', output: 'so far' })
  assert.equal(await model.requests[0]?.closedEarly, true)
  assert.equal((await client.session('s')).body.messages.at(-1).content, 'so far')
})

test('Chat: the step of a tool that exceeds the execution time says so', async (t) => {
  const gate = gatedTool('wait')
  const script = { ...callOf('wait'), text: 'I wait.' }
  const { client } = await startService(t, { tools: [gate.tool], script, config: { max_execution_time: 0.3 } })
  const { status, body } = await client.chat('go')
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'I wait.' })
  await gate.cancelled
})

test('Chat: a cancelled chain answers 409 Cancelled, and its session keeps the partial result', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await startService(t, { tools: [gate.tool], script: { ...callOf('wait'), text: 'I wait.' } })
  const chat = client.chat('go', { 'request-id': 'r', 'session-id': 's' })
  await gate.entered
  const cancelled = await client.request('DELETE', '/core/v1/runs/r')
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  const { status, body } = await chat
  assert.deepEqual({ status, details: body.details }, { status: 409, details: { error_type: 'Cancelled' } })
  await gate.cancelled
  const { messages } = (await client.session('s')).body
  assert.deepEqual(
    { messageCount: messages.length, content: messages[1].content, finish_reason: messages[1].response_metadata.finish_reason },
    { messageCount: 2, content: 'I wait.', finish_reason: 'cancelled' },
  )
  // The run was cancelled on purpose, so a repeat does not continue it.
  assert.equal((await client.chat('go', { 'request-id': 'r', 'session-id': 's' })).status, 409)
})

test('Chat: a failed run leaves its human message in the session', async (t) => {
  const { client } = await startService(t, { script: [{ status: 400, body: {} }, { text: 'now' }] })
  assert.equal((await client.chat('one', { 'session-id': 's' })).status, 502)
  assert.equal((await client.chat('two', { 'session-id': 's' })).status, 200)
  const { messages } = (await client.session('s')).body
  assert.deepEqual(
    messages.map((message: { content: string }) => message.content),
    ['one', 'two', 'now'],
  )
})

test('Chat: a failing model is tried 3 times, then the fallback', async (t) => {
  const broken = await startModelServer({ status: 503, body: { error: { message: 'overloaded' } } })
  const good = await startModelServer({ text: 'from the fallback' })
  t.after(() => Promise.all([broken.close(), good.close()]))
  const llms = { primary: scripted(broken), fallback: [{ ...scripted(good), model: 'second' }] }
  const { client } = await startService(t, { config: { llms } })
  const { body } = await client.chat('go')
  assert.deepEqual(
    { output: body.body.output, costAttribute: body.body.usage[0].costAttribute },
    { output: 'from the fallback', costAttribute: 'second' },
  )
  assert.deepEqual([broken.requests.length, good.requests.length], [3, 1])
})

test('Chat: a 401 of the provider is not retried, is 502 ModelUnavailable, and never shows the key', async (t) => {
  const { client, model, log } = await startService(t, {
    script: { status: 401, body: { error: { message: 'Incorrect API key provided: model-secret-key' } } },
  })
  const { status, body, text } = await client.chat('go', { 'request-id': 'r' })
  assert.deepEqual(
    { status, status_code: body.status_code, details: body.details },
    { status: 502, status_code: 502, details: { error_type: 'ModelUnavailable' } },
  )
  assert.equal(model.requests.length, 1)
  const run = await client.run('r')
  assert.deepEqual({ status: run.body.status, error: run.body.error }, { status: 'error', error: body })
  for (const shown of [text, run.text, log.join('')]) {
    assert.ok(!shown.includes('model-secret-key'), shown)
    assert.ok(!/\n\s+at /.test(shown), shown)
  }
})
