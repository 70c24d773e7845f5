import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Decision } from './approval.ts'
import type { JsonObject } from './messages.ts'
import { eventsOf, fakeTool, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

/** Tools that note what they were called with: `look` is free, `send` and `drop` need approval. */
function tools(made: string[]): Tool[] {
  const noting = (name: string, traits: Partial<Tool>) =>
    fakeTool(name, {
      ...traits,
      execute: async (input: JsonObject) => {
        made.push(`${name} ${JSON.stringify(input)}`)
        return 'done'
      },
    })
  const gated = { effect: 'write', approval: { by: 'caller' } } as const
  return [noting('look', {}), noting('send', gated), noting('drop', { ...gated, approval: { by: 'role' } })]
}

const approve = (traits: { input?: JsonObject; isStarted?: boolean } = {}): Decision => ({
  decision: 'approve',
  isStarted: false,
  ...traits,
})

test('calls of a turn that need no approval are made, then the loop stops before those that do', async () => {
  const made: string[] = []
  const model = new ScriptedModel(say('One moment.', call('send', { to: 'a' }), call('look', { at: 1 }), call('drop', {})))
  const options = optionsOf(model, { tools: tools(made) })
  const events = await eventsOf(options)
  assert.deepEqual(made, ['look {"at":1}'])
  assert.deepEqual(story(events), [
    'answer: One moment.',
    'turn',
    'c2 starts: look {"at":1}',
    'c2 result: done',
    'c2 ends: success',
    'interrupt: c1 send, c3 drop',
  ])
  const last = events.at(-1)
  assert.deepEqual(last?.type === 'interrupt' && last.calls, [
    { callId: 'c1', tool: 'send', input: { to: 'a' }, by: 'caller' },
    { callId: 'c3', tool: 'drop', input: {}, by: 'role' },
  ])
})

test('decided calls go on: an approved one is made as it was decided, a rejected one is told to the model', async () => {
  const made: string[] = []
  const first = optionsOf(new ScriptedModel(say('', call('send', { to: 'a' }), call('drop', {}))), { tools: tools(made) })
  await eventsOf(first)
  const decisions: Record<string, Decision> = { c1: approve({ input: { to: 'b' } }), c2: { decision: 'reject', reason: 'Keep it.' } }
  const model = new ScriptedModel(say('Sent.'))
  const next = optionsOf(model, { tools: tools(made), messages: first.messages, decided: (id) => decisions[id] })
  assert.deepEqual(story(await eventsOf(next)), [
    'c1 is about to be made',
    'c1 starts: send {"to":"b"}',
    'c1 result: done',
    'c1 ends: success',
    'c2 starts: drop {}',
    'c2 result (error): The call was rejected by a person: Keep it. Do not ask for it again; go on without it, or say what is missing.',
    'c2 ends: error',
    'answer: Sent.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(made, ['send {"to":"b"}'])
})

test('an approved write that was started is never made again; one behind it that was not is made', async () => {
  const made: string[] = []
  const first = optionsOf(new ScriptedModel(say('', call('send', { n: 1 }), call('send', { n: 2 }))), { tools: tools(made) })
  await eventsOf(first)
  const decisions: Record<string, Decision> = { c1: approve({ isStarted: true }), c2: approve() }
  const next = optionsOf(new ScriptedModel(say('Well.')), { tools: tools(made), messages: first.messages, decided: (id) => decisions[id] })
  const told = story(await eventsOf(next))
  assert.match(
    told.find((line) => line.startsWith('c1 result'))!,
    /error.*unknown/,
  )
  assert.deepEqual(made, ['send {"n":2}'])
})

test('a call that does not fit its tool is refused, and nobody is asked', async () => {
  const model = new ScriptedModel(say('', call('send', {})), say('Sorry.'))
  const strict = fakeTool('send', { approval: { by: 'caller' }, effect: 'write', check: () => 'to is required' })
  const told = story(await eventsOf(optionsOf(model, { tools: [strict] })))
  assert.deepEqual(told.at(-1), 'end: stop')
  assert.ok(told.some((line) => line.includes('to is required')))
})
