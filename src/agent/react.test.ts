import { test } from 'node:test'
import assert from 'node:assert/strict'
import { eventsOf, fakeTool, optionsOf, story } from './react-fixture.ts'
import { call, fail, say, ScriptedModel } from './scripted-model.ts'
import { repair, totalTokens } from './history.ts'
import type { Message } from './messages.ts'
import { ModelError } from './model.ts'

test('a call of a tool that is down fails with that reason, without a list of tools', async () => {
  const model = new ScriptedModel(say('', call('far__away', {})), say('Later.'))
  const told = story(await eventsOf(optionsOf(model, { tools: [fakeTool('look')], isDown: (name) => name === 'far__away' })))
  assert.ok(
    told.some((line) => line.endsWith("far__away can't be used at the moment: what it needs is not there. Go on without it, or say so.")),
  )
})

test('a plain answer is published as it arrives and ends the run', async () => {
  const model = new ScriptedModel(say(['Hel', 'lo.']))
  const options = optionsOf(model)
  assert.deepEqual(await eventsOf(options), [
    { type: 'text', label: 'answer', text: 'Hel' },
    { type: 'text', label: 'answer', text: 'lo.' },
    {
      type: 'turn',
      message: { role: 'assistant', text: 'Hello.', toolCalls: [] },
      usage: { model: 'scripted-1', input: 10, output: 5, cachedInput: 0, reasoning: 0 },
      finish: 'stop',
      startedAt: 1,
      endedAt: 2,
    },
    { type: 'end', reason: 'stop' },
  ])
  assert.deepEqual(model.requests, [{ system: 'Be brief.', messages: [{ role: 'user', text: 'Go.' }], tools: [] }])
  assert.deepEqual(options.messages.at(-1), { role: 'assistant', text: 'Hello.', toolCalls: [] })
})

test('a tool call runs between two model calls, and the model gets its result', async () => {
  const model = new ScriptedModel(say('Let me add.', call('add', { a: 2, b: 3 })), say('5'))
  const add = fakeTool('add', { execute: async ({ a, b }) => ({ sum: Number(a) + Number(b) }) })
  const events = await eventsOf(optionsOf(model, { tools: [add] }))
  const start = { id: 'c1', type: 'tool_call', tool: 'add', input: { a: 2, b: 3 }, startedAt: 3 }
  const step = { ...start, log: 'Done.', output: { sum: 5 }, status: 'success', durationMs: 1 }
  const message = { role: 'tool', callId: 'c1', name: 'add', text: '{"sum":5}', isError: false }
  assert.deepEqual(events.slice(2, 5), [
    { type: 'step_start', step: start },
    { type: 'result', message, effect: 'read', step, executed: 'success' },
    { type: 'step_end', step },
  ])
  assert.deepEqual(story(events), [
    'answer: Let me add.',
    'turn',
    'c1 starts: add {"a":2,"b":3}',
    'c1 result: {"sum":5}',
    'c1 ends: success',
    'answer: 5',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(model.requests[0]?.tools, [{ name: 'add', description: 'Does add.', schema: { type: 'object' }, effect: 'read' }])
  assert.deepEqual(model.requests[1]?.messages, [
    { role: 'user', text: 'Go.' },
    { role: 'assistant', text: 'Let me add.', toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":2,"b":3}' }] },
    message,
  ])
  model.assertComplete()
})

test('each fault of a call is reported to the model, not thrown', async () => {
  const picky = fakeTool('picky', { check: () => 'a is missing' })
  const broken = fakeTool('broken', {
    execute: () => {
      throw new Error('The disk is on fire.')
    },
  })
  const asked = [
    call('none', {}),
    { name: 'broken', arguments: '{"a":' },
    { name: 'broken', arguments: '[1]' },
    { name: 'broken', arguments: `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}` },
    call('picky', {}),
    call('broken', {}),
  ]
  const model = new ScriptedModel(say('', ...asked), say('Sorry.'))
  const events = await eventsOf(optionsOf(model, { tools: [picky, broken] }))
  const expected = [
    'There is no tool none. The tools are: picky, broken.',
    'The arguments of broken are not a JSON object.',
    'The arguments of broken are not a JSON object.',
    'The arguments of broken are nested too deeply.',
    'The arguments of picky do not fit: a is missing.',
    '{"error":"The disk is on fire."}',
  ]
  assert.deepEqual(
    model.requests[1]?.messages.slice(2),
    asked.map(({ name }, at) => ({ role: 'tool', callId: `c${at + 1}`, name, text: expected[at], isError: true })),
  )
  assert.deepEqual(story(events).slice(-3), ['answer: Sorry.', 'turn', 'end: stop'])
  assert.equal(events.filter((event) => event.type === 'step_end' && event.step.status === 'error').length, 6)
})

test('empty text as arguments is an empty object', async () => {
  const model = new ScriptedModel(say('', { name: 'look', arguments: '' }), say('Seen.'))
  const events = await eventsOf(optionsOf(model, { tools: [fakeTool('look')] }))
  assert.deepEqual(story(events).slice(1, 3), ['c1 starts: look {}', 'c1 result: ok'])
})

test('the last model call offers no tools, and its tool calls are dropped', async () => {
  const model = new ScriptedModel(say('', call('look', {})), say('As far as I got.', call('look', {})))
  const options = optionsOf(model, { tools: [fakeTool('look')], maxIterations: 2 })
  assert.deepEqual(story(await eventsOf(options)), [
    'turn',
    'c1 starts: look {}',
    'c1 result: ok',
    'c1 ends: success',
    'answer: As far as I got.',
    'turn',
    'end: max_iterations',
  ])
  assert.deepEqual(
    model.requests.map((request) => request.tools.length),
    [1, 0],
  )
  assert.deepEqual(options.messages.at(-1), { role: 'assistant', text: 'As far as I got.', toolCalls: [] })
})

test('an agent without tools that may call once just stops', async () => {
  assert.deepEqual(story(await eventsOf(optionsOf(new ScriptedModel(say('Hi.')), { maxIterations: 1 }))), [
    'answer: Hi.',
    'turn',
    'end: stop',
  ])
})

for (const finish of ['length', 'content_filter'] as const) {
  test(`a reply that ends by ${finish} ends the run so`, async () => {
    const model = new ScriptedModel({ ...say('Half a'), reply: { finish } })
    assert.deepEqual(story(await eventsOf(optionsOf(model))), ['answer: Half a', 'turn', `end: ${finish}`])
  })
}

test('a model that fails for good throws, and there is no end event', async () => {
  const options = optionsOf(new ScriptedModel(say('Hm.', call('look', {})), fail(undefined, 'Half')), { tools: [fakeTool('look')] })
  const told: string[] = []
  await assert.rejects(
    eventsOf(options, (event) => told.push(event.type)),
    (error) => error instanceof ModelError && error.code === 'unavailable',
  )
  assert.deepEqual(told, ['text', 'turn', 'step_start', 'result', 'step_end', 'text'])
  assert.equal(options.messages.length, 3)
})

test('vendor data for the provider is stored with the message', async () => {
  const vendor = { provider: 'some', data: { signature: 'x' } }
  const model = new ScriptedModel({ ...say('', call('look', {})), reply: { toolCalls: [call('look', {})], vendor } }, say('Seen.'))
  await eventsOf(optionsOf(model, { tools: [fakeTool('look')] }))
  assert.deepEqual(model.requests[1]?.messages[1], {
    role: 'assistant',
    text: '',
    toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }],
    vendor,
  })
})

test('a run larger than its window shows cut old output to the model; its own transcript stays whole', async () => {
  const long = 'x'.repeat(4000)
  const look = fakeTool('look', { maxOutputCharacters: 4000, execute: async () => long })
  const turns = 12
  const model = new ScriptedModel(...Array.from({ length: turns }, () => say('', call('look', {}))), say('Done.'))
  const options = optionsOf(model, { tools: [look], maxIterations: 20, windowTokens: 6000 })
  await eventsOf(options)
  const outputs = (messages: readonly Message[]) => messages.flatMap((message) => (message.role === 'tool' ? [message.text.length] : []))
  for (const { messages } of model.requests) {
    assert.ok(totalTokens(messages) <= 6000)
    assert.deepEqual(repair(messages), messages)
    assert.deepEqual([...new Set(outputs(messages).slice(-3))], outputs(messages).length > 0 ? [4000] : [])
  }
  assert.equal(outputs(model.requests.at(-1)!.messages).length, turns)
  assert.ok(outputs(options.messages).every((length) => length === 4000))
})
