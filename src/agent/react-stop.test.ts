import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Model, ModelEvent, ModelReply } from './model.ts'
import { react } from './react.ts'
import { eventsOf, fakeTool, gate, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

/** A model that says one piece, then listens to its signal alone; tells when its generator was closed. */
function endlessModel() {
  const closed = gate()
  async function* reply(_: unknown, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
    try {
      yield { type: 'text', text: 'Hal' }
      signal.throwIfAborted()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      throw new Error('unreachable')
    } finally {
      closed.open()
    }
  }
  return { model: { name: 'endless-1', seesImages: true, reply } satisfies Model, closed: closed.opened }
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

test('a run cancelled while the model streams closes the generator and keeps the text so far', async () => {
  const { model, closed } = endlessModel()
  const controller = new AbortController()
  const options = optionsOf(model, { signal: controller.signal })
  const events = await eventsOf(options, (event) => event.type === 'text' && controller.abort())
  await closed
  assert.deepEqual(story(events), ['answer: Hal', 'end: cancelled'])
  assert.deepEqual(options.messages, [{ role: 'user', text: 'Go.' }])
})

test('a consumer that leaves while the model streams closes its generator', async () => {
  const { model, closed } = endlessModel()
  for await (const event of react(optionsOf(model))) if (event.type === 'text') break
  await closed
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

test("a consumer that leaves while a tool runs aborts the tool's signal", async () => {
  const { tool, signals } = stuckTool()
  const quick = fakeTool('quick')
  const model = new ScriptedModel(say('', call('stuck', {}), call('quick', {})))
  for await (const event of react(optionsOf(model, { tools: [tool, quick] }))) if (event.type === 'step_end') break
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [true],
  )
})
