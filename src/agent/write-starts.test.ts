import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision } from './approval.ts'
import { eventsOf, fakeTool, optionsOf, type StoryEvent, type Traits } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

const write = (name: string, traits: Partial<Tool> = {}) => fakeTool(name, { effect: 'write', ...traits })

/** What a store learns about writes: the start with the event before the call, and the outcome with the result. */
function factsOf(events: readonly StoryEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'approved_start') return [`${event.callId} starts approved`]
    if (event.type !== 'turn' && event.type !== 'result') return []
    const { starts } = event
    const next = starts ? `, ${starts.callId} ${starts.tool} ${JSON.stringify(starts.input)} starts` : ''
    return event.type === 'turn' ? [`turn${next}`] : [`${event.message.callId} ${event.executed ?? 'not executed'}${next}`]
  })
}

async function factsWith(calls: ReturnType<typeof call>[], traits: Traits): Promise<string[]> {
  return factsOf(await eventsOf(optionsOf(new ScriptedModel(say('', ...calls), say('Done.')), traits)))
}

test('the first write of a turn starts with the turn, each further write with the result before', async () => {
  const tools = [write('a'), write('b'), fakeTool('look')]
  assert.deepEqual(await factsWith([call('look', {}), call('a', { n: 1 }), call('b', {})], { tools }), [
    'turn, c2 a {"n":1} starts',
    'c2 success, c3 b {} starts',
    'c1 success',
    'c3 success',
    'turn',
  ])
})

test('a write that cannot run, and one that waits for a decision, is not started', async () => {
  const tools = [write('a', { check: () => 'n is missing' }), write('b', { approval: { by: 'caller' } }), write('c')]
  assert.deepEqual(await factsWith([call('a', {}), call('b', {}), call('c', {})], { tools }), [
    'turn',
    'c1 not executed, c3 c {} starts',
    'c3 success',
  ])
})

test('a failed write has the outcome error, and one that takes too long the outcome unknown', async () => {
  const fails = write('a', { execute: () => Promise.reject(new Error('No.')) })
  const waits = write('b', { execute: () => new Promise(() => undefined), timeoutMs: 5 })
  assert.deepEqual(await factsWith([call('a', {}), call('b', {})], { tools: [fails, waits] }), [
    'turn, c1 a {} starts',
    'c1 error, c2 b {} starts',
    'c2 unknown',
    'turn',
  ])
})

test('behind a cancelled write nothing starts', async () => {
  const stop = new AbortController()
  const cancels = write('a', { execute: () => (stop.abort(), new Promise(() => undefined)) })
  const facts = await factsWith([call('a', {}), call('b', {})], { tools: [cancels, write('b')], signal: stop.signal })
  assert.deepEqual(facts, ['turn, c1 a {} starts', 'c1 unknown', 'c2 refused'])
})

/** Resumes a turn whose calls have no result. */
async function factsOfResumed(
  calls: { id: string; name: string; approval?: 'caller' }[],
  decisions: Record<string, Decision>,
  tools: Tool[],
) {
  const toolCalls = calls.map((asked) => ({ arguments: '{}', ...asked }))
  const messages = [
    { role: 'user' as const, text: 'Go.' },
    { role: 'assistant' as const, text: '', toolCalls },
  ]
  const model = new ScriptedModel(say('Done.'))
  return factsOf(await eventsOf(optionsOf(model, { tools, messages, decisionFor: (id) => decisions[id] })))
}

test('a resumed run does not start again what may be done, and starts the writes behind', async () => {
  const calls = [
    { id: 'x', name: 'a' },
    { id: 'y', name: 'a' },
  ]
  assert.deepEqual(await factsOfResumed(calls, {}, [write('a')]), ['x not executed, y a {} starts', 'y success', 'turn'])
})

test('the start of an approved write is an event of its own, with the input of the decision', async () => {
  const calls = [
    { id: 'x', name: 'a', approval: 'caller' as const },
    { id: 'y', name: 'a', approval: 'caller' as const },
    { id: 'z', name: 'a', approval: 'caller' as const },
  ]
  const decisions: Record<string, Decision> = {
    x: { decision: 'approve', input: { n: 2 }, isStarted: false, salt: 'ab' },
    y: { decision: 'reject' },
    z: { decision: 'approve', isStarted: true },
  }
  const tools = [write('a', { approval: { by: 'caller' } })]
  assert.deepEqual(await factsOfResumed(calls, decisions, tools), [
    'x starts approved',
    'x success',
    'y not executed',
    'z not executed',
    'turn',
  ])
})
