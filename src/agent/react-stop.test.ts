import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { AgentEvent } from './events.ts'
import type { Model, ModelReply, ModelSink } from './model.ts'
import { runAgent } from './loop.ts'
import { eventsOf, fakeTool, gate, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

/** A model that says one piece, then listens to its signal alone; tells when its call was over. */
function endlessModel() {
  const closed = gate()
  async function reply(_: unknown, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    try {
      await sink({ type: 'text', text: 'Hal' })
      signal.throwIfAborted()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      throw new Error('unreachable')
    } finally {
      closed.open()
    }
  }
  return { model: { name: 'endless-1', seesImages: true, reply } satisfies Model, closed: closed.opened }
}

class FenceLost extends Error {}

function throwFenceLost(): never {
  throw new FenceLost()
}

/** A tool that never ends by itself; keeps the signals it was given. */
function stuckTool(traits: Partial<Tool> = {}) {
  const signals: AbortSignal[] = []
  const tool = fakeTool('stuck', {
    execute: (_, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    },
    ...traits,
  })
  return { tool, signals }
}

test('a run cancelled while the model streams ends the call and keeps the text so far', async () => {
  const { model, closed } = endlessModel()
  const controller = new AbortController()
  const options = optionsOf(model, { signal: controller.signal })
  const events = await eventsOf(options, (event) => event.type === 'text' && controller.abort())
  await closed
  assert.deepEqual(story(events), ['answer: Hal', 'end: cancelled'])
  assert.deepEqual(options.messages, [{ role: 'user', text: 'Go.' }])
})

test('an event that cannot be kept while the model streams ends its call and the agent', async () => {
  for (const keep of [() => Promise.reject(new FenceLost()), throwFenceLost]) {
    const { model, closed } = endlessModel()
    await assert.rejects(runAgent(optionsOf(model), keep), FenceLost)
    await closed
  }
})

test('the loss of a run that is stopped at the same time is not taken for its end', async () => {
  const { model } = endlessModel()
  const controller = new AbortController()
  const running = runAgent(optionsOf(model, { signal: controller.signal }), () => {
    controller.abort()
    return Promise.reject(new FenceLost())
  })
  await assert.rejects(running, FenceLost)
})

test('a stopped agent ends when its events are stored', async () => {
  const { model } = endlessModel()
  const controller = new AbortController()
  const stored = gate()
  let hasEnded = false
  const begun = gate()
  const running = runAgent(optionsOf(model, { signal: controller.signal }), () => {
    begun.open()
    return stored.opened
  }).finally(() => (hasEnded = true))
  await begun.opened
  controller.abort()
  await new Promise(setImmediate)
  assert.equal(hasEnded, false)
  stored.open()
  assert.deepEqual(await running, { type: 'end', reason: 'cancelled' })
})

test('a run cancelled before its start calls no model', async () => {
  const model = new ScriptedModel()
  assert.deepEqual(story(await eventsOf(optionsOf(model, { signal: AbortSignal.abort() }))), ['end: cancelled'])
  assert.deepEqual(model.requests, [])
})

test('a run that is cancelled while tools run aborts their signals, and every call has a result', async () => {
  const { tool, signals } = stuckTool()
  const controller = new AbortController()
  const done: string[] = []
  const write = fakeTool('write', { effect: 'write', execute: async () => done.push('write') })
  const asked = [call('stuck', {}), call('write', {}), call('write', {})]
  const options = optionsOf(new ScriptedModel(say('', ...asked)), { tools: [tool, write], signal: controller.signal })
  const events = await eventsOf(options, (event) => event.type === 'result' && event.message.callId === 'c2' && controller.abort())
  assert.deepEqual(story(events), [
    'turn',
    'c2 starts: write {}',
    'c1 starts: stuck {}',
    'c2 result: 1',
    'c2 ends: success',
    'c3 starts: write {}',
    'c1 result (error): {"error":"The call was cancelled."}',
    'c1 ends: error',
    'c3 result (error): {"error":"The call was cancelled."}',
    'c3 ends: error',
    'end: cancelled',
  ])
  assert.deepEqual(done, ['write'])
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [true],
  )
  assert.deepEqual(
    options.messages.slice(2).map((message) => message.role === 'tool' && message.callId),
    ['c1', 'c2', 'c3'],
  )
})

test('a write cancelled while running may have been done, and the model gets that message', async () => {
  const { tool } = stuckTool({ effect: 'write' })
  const controller = new AbortController()
  const options = optionsOf(new ScriptedModel(say('', call('stuck', {}))), { tools: [tool], signal: controller.signal })
  setImmediate(() => controller.abort())
  await eventsOf(options)
  const result = options.messages.at(-1)
  assert.match(result?.text ?? '', /The call was cancelled\. The outcome of this call is unknown/)
})

test('a run that times out while a tool runs repeats its best answer behind the step', async () => {
  const { tool } = stuckTool()
  const controller = new AbortController()
  const model = new ScriptedModel(say('About 5.', call('stuck', {})))
  const options = optionsOf(model, { tools: [tool], signal: controller.signal, stopReason: () => 'timeout' })
  const events = await eventsOf(options, (event) => event.type === 'step_start' && setImmediate(() => controller.abort()))
  assert.deepEqual(story(events), [
    'answer: About 5.',
    'turn',
    'c1 starts: stuck {}',
    'c1 result (error): {"error":"The call was cancelled."}',
    'c1 ends: error',
    'answer: About 5.',
    'end: timeout',
  ])
})

test('a run that times out during a model call repeats the best answer of earlier turns', async () => {
  const controller = new AbortController()
  const thinking = { events: [{ type: 'reasoning', text: 'Hm.' } as const, { type: 'text', text: 'never' } as const] }
  const model = new ScriptedModel(say('About 5.', call('look', {})), thinking)
  const options = optionsOf(model, { tools: [fakeTool('look')], signal: controller.signal, stopReason: () => 'timeout' })
  const events = await eventsOf(options, (event) => event.type === 'text' && event.label === 'reasoning' && controller.abort())
  assert.deepEqual(story(events).slice(-3), ['reasoning: Hm.', 'answer: About 5.', 'end: timeout'])
})

test('an event that cannot be kept stops the tools that run, and no further call starts', async () => {
  const { tool, signals } = stuckTool()
  const quick = fakeTool('quick')
  const model = new ScriptedModel(say('', call('stuck', {}), call('quick', {})))
  const events: AgentEvent[] = []
  const running = runAgent(optionsOf(model, { tools: [tool, quick] }), (event) => {
    events.push(event)
    return event.type === 'result' ? Promise.reject(new FenceLost()) : undefined
  })
  await assert.rejects(running, FenceLost)
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [true],
  )
  assert.deepEqual(story(events), ['turn', 'c1 starts: stuck {}', 'c2 starts: quick {}', 'c2 result: ok'])
})

test('an inner event that cannot be kept stops the inner agent and the run; no later event is passed on', async () => {
  const ends: string[] = []
  const agent = fakeTool('agent', {
    isAgent: true,
    async execute(_, { inner, signal }) {
      await inner!.emit({ type: 'retrying' })
      ends.push(signal.aborted ? 'stopped' : 'goes on')
      await inner!.emit({ type: 'retrying' })
      ends.push('over')
      return null
    },
  })
  const events: AgentEvent[] = []
  const running = runAgent(optionsOf(new ScriptedModel(say('', call('agent', {}))), { tools: [agent] }), (event) => {
    events.push(event)
    return event.type === 'retrying' ? Promise.reject(new FenceLost()) : undefined
  })
  await assert.rejects(running, FenceLost)
  assert.deepEqual(ends, ['stopped', 'over'])
  assert.deepEqual(story(events), ['turn', 'c1 starts: agent {}', 'retrying'])
})

test('events of an inner agent wait while an event of another call is being stored', async () => {
  const stored = gate()
  const agent = fakeTool('agent', {
    isAgent: true,
    async execute(_, { inner }) {
      for (const text of ['1', '2']) await inner!.emit({ type: 'text', label: 'planning', text })
      return null
    },
  })
  const write = fakeTool('write', { effect: 'write' })
  const model = new ScriptedModel(say('', call('write', {}), call('agent', {})), say('Done.'))
  const events: AgentEvent[] = []
  const running = runAgent(optionsOf(model, { tools: [agent, write] }), (event) => {
    events.push(event)
    return event.type === 'result' && event.effect === 'write' ? stored.opened : undefined
  })
  const isStoring = () => events.some((event) => event.type === 'result')
  while (!isStoring()) await new Promise(setImmediate)
  const count = events.length
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  assert.equal(events.length, count)
  stored.open()
  await running
  assert.deepEqual(
    story(events).filter((line) => line.startsWith('planning')),
    ['planning: 1', 'planning: 2'],
  )
})
