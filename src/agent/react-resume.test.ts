import { test } from 'node:test'
import assert from 'node:assert/strict'
import { outcomeUnknown } from './history.ts'
import type { AssistantMessage, Message, ToolMessage } from './messages.ts'
import { eventsOf, fakeTool, optionsOf, story, type Traits } from './react-fixture.ts'
import { say, ScriptedModel } from './scripted-model.ts'

const user: Message = { role: 'user', text: 'Go.' }

/** A turn whose calls are named `<tool><number>`; the number makes the id. */
function turn(text: string, ...names: string[]): AssistantMessage {
  return { role: 'assistant', text, toolCalls: names.map((name, at) => ({ id: `o${at + 1}`, name, arguments: '{}' })) }
}

function result(callId: string, name: string, text = 'stored'): ToolMessage {
  return { role: 'tool', callId, name, text, isError: false }
}

/** Goes on with a transcript; says which tools were executed. */
async function resume(messages: Message[], traits: Traits = {}) {
  const executed: string[] = []
  const execute = async (_: unknown, { callId }: { callId: string }) => executed.push(callId)
  const model = new ScriptedModel(say('Done.'))
  const tools = [fakeTool('look', { execute }), fakeTool('write', { effect: 'write', execute })]
  const events = await eventsOf(optionsOf(model, { messages, tools, iterations: 1, ...traits }))
  return { events: story(events), executed, model }
}

test('reads without a result run again', async () => {
  const { events, executed, model } = await resume([user, turn('Wait.', 'look', 'look'), result('o2', 'look')])
  assert.deepEqual(events, ['o1 starts: look {}', 'o1 result: 1', 'o1 ends: success', 'answer: Done.', 'turn', 'end: stop'])
  assert.deepEqual(executed, ['o1'])
  assert.deepEqual(model.requests[0]?.messages, [user, turn('Wait.', 'look', 'look'), result('o1', 'look', '1'), result('o2', 'look')])
})

test('the first write without a result never runs again; later writes were not started and run', async () => {
  const before = turn('', 'write', 'write', 'look', 'write')
  const { events, executed, model } = await resume([user, before, result('o1', 'write')])
  assert.deepEqual(events, [
    'o2 starts: write {}',
    'o3 starts: look {}',
    `o2 result (error): ${outcomeUnknown}`,
    'o2 ends: error',
    'o4 starts: write {}',
    'o3 result: 1',
    'o3 ends: success',
    'o4 result: 2',
    'o4 ends: success',
    'answer: Done.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(executed, ['o3', 'o4'])
  assert.deepEqual(model.requests[0]?.messages.slice(2), [
    result('o1', 'write'),
    { ...result('o2', 'write', outcomeUnknown), isError: true },
    result('o3', 'look', '1'),
    result('o4', 'write', '2'),
  ])
})

test('a turn with all results continues with the model', async () => {
  const { events, executed } = await resume([user, turn('', 'write'), result('o1', 'write')])
  assert.deepEqual(events, ['answer: Done.', 'turn', 'end: stop'])
  assert.deepEqual(executed, [])
})

test('model calls made before are counted', async () => {
  const { model } = await resume([user, turn('', 'look'), result('o1', 'look')], { iterations: 9 })
  assert.deepEqual(model.requests[0]?.tools, [])
})

test('a run resumed behind its last model call repeats its best answer', async () => {
  const { events, model } = await resume([user, turn('About 5.', 'look')], { iterations: 10 })
  assert.deepEqual(events, ['o1 starts: look {}', 'o1 result: 1', 'o1 ends: success', 'answer: About 5.', 'end: max_iterations'])
  assert.deepEqual(model.requests, [])
})

test('a run cancelled right after its resume repeats its best answer', async () => {
  const messages = [user, turn('About 5.', 'look'), result('o1', 'look')]
  assert.deepEqual((await resume(messages, { signal: AbortSignal.abort() })).events, ['answer: About 5.', 'end: cancelled'])
})

test('text before the last user message is not the answer', async () => {
  const { events } = await resume([user, turn('Old.'), user], { signal: AbortSignal.abort() })
  assert.deepEqual(events, ['end: cancelled'])
})

test('open calls of an earlier request are not run by a later one', async () => {
  const { executed, model } = await resume([user, turn('', 'write', 'look'), user])
  assert.deepEqual(executed, [])
  assert.deepEqual(
    model.requests[0]?.messages.map((message) => message.role),
    ['user', 'assistant', 'tool', 'tool', 'user'],
  )
})
