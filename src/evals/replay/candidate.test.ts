import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool } from '../../agent/tool.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import { agentOf } from '../../runs/process-fixture.ts'
import { compareWrites, recordedWrites } from '../effects.ts'
import { toExample } from '../example.ts'
import { FunctionModel } from '../recorded-parts-fixture.ts'
import { ann } from '../recorded-run-fixture.ts'
import { toSubject } from '../scorers/score.ts'
import { call, caseOf, modelOf, signal, tryOut } from './case-fixture.ts'
import { faultOfLive, toLiveReads } from './live.ts'
import { replay } from './replay.ts'

test('a candidate that writes as recorded has the same effects; one that writes twice has one more, and its run goes on', async () => {
  const made = await caseOf(modelOf([call('refund', { n: 1 })]))
  const same = await tryOut(made, modelOf([call('refund', { n: 1 })]))
  assert.equal(same.status, 'completed')
  assert.deepEqual(compareWrites(recordedWrites(made.example), same.writes), { same: 1, added: [], removed: [], changed: [] })
  const twice = await tryOut(made, modelOf([call('refund', { n: 1 })], [call('refund', { n: 1 })]))
  assert.deepEqual(
    twice.writes.map(({ n, recorded }) => [n, recorded]),
    [
      [1, true],
      [null, false],
    ],
  )
  assert.deepEqual(compareWrites(recordedWrites(made.example), twice.writes).added, [{ tool: 'refund', tool_input: { n: 1 } }])
  assert.equal(twice.status, 'completed')
  const { calls, effects, output } = toSubject(made.example, twice)
  assert.deepEqual([calls.length, effects.added.length, output], [2, 1, 'Done.'])
  const outputs = twice.events.flatMap((event) => (event.type === 'step_end' ? [event.step.output] : []))
  assert.deepEqual(outputs, [{ refunded: 1, receipt: 1 }, { simulated: true }])
})

test('a candidate that declares a recorded write as a read hides no write', async () => {
  const made = await caseOf(modelOf([call('refund', { n: 1 })]))
  const tools = made.tools.map((tool): Tool => ({ ...tool, effect: 'read' }))
  const live = toLiveReads(['refund'], { agent: agentOf({ model: modelOf(), tools }), inUse: toAgentConfig({}), writesInUse: () => false })
  assert.equal(live.size, 1)
  for (const options of [{ onMiss: 'fail' }, { onMiss: 'error' }, { onMiss: 'live', live }] as const) {
    const replayed = await tryOut({ ...made, tools }, modelOf([call('refund', { n: 1 })], [call('refund', { n: 1 })]), options)
    const { same, added, removed } = compareWrites(recordedWrites(made.example), replayed.writes)
    assert.deepEqual([replayed.status, same, added, removed], ['completed', 1, [{ tool: 'refund', tool_input: { n: 1 } }], []])
  }
})

test('the order of members and the form of a number do not count; another input does', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1, b: [1, { c: null }] })]))
  const text = { name: 'look', arguments: '{"b":[1.0,{"c":null}],"n":1e0}' }
  assert.equal((await tryOut(made, modelOf([text]))).divergence, undefined)
  const { status, divergence } = await tryOut(made, modelOf([call('look', { n: 2 })]))
  assert.deepEqual(
    [status, divergence],
    ['diverged', { reason: 'no_recording', call: { tool: 'look', tool_input: { n: 2 }, parent: null } }],
  )
})

test('a recorded null is an answer, a recorded failure fails again, and the second call needs a second recording', async () => {
  const made = await caseOf(modelOf([call('nothing', {}), call('broken', {})]))
  const replayed = await tryOut(made, modelOf([call('nothing', {}), call('broken', {})], [call('nothing', {})]), { onMiss: 'error' })
  const ends = replayed.events.flatMap((event) => (event.type === 'step_end' ? [[event.step.status, event.step.output]] : []))
  assert.deepEqual(ends, [
    ['success', null],
    ['error', { error: 'It failed\nfor the 1. time.' }],
    ['error', { error: 'There is no recording of this call of nothing.' }],
  ])
  assert.deepEqual([replayed.status, replayed.divergence?.reason], ['completed', 'used_up'])
})

test('a tool that writes in the configuration in use is noted, not run, whatever the candidate declares', async () => {
  const made = await caseOf(modelOf())
  const tools = made.tools.map((tool): Tool => (tool.name === 'refund' ? { ...tool, effect: 'read' } : tool))
  const writesInUse = (name: string) => name === 'refund'
  const declared = { agent: agentOf({ model: modelOf(), tools }), inUse: toAgentConfig({}) }
  const live = toLiveReads(['refund'], { ...declared, writesInUse: () => false })
  assert.deepEqual([...live.keys()], ['refund'])
  assert.equal(faultOfLive('refund', { ...declared, writesInUse }), 'has effect write')
  for (const onMiss of ['fail', 'error', 'live'] as const) {
    const replayed = await tryOut({ ...made, tools }, modelOf([call('refund', { n: 1 })]), { onMiss, live }, { writesInUse })
    assert.deepEqual([replayed.status, replayed.divergence], ['completed', undefined], onMiss)
    assert.deepEqual(replayed.writes, [{ tool: 'refund', tool_input: { n: 1 }, n: null, recorded: false }])
  }
  assert.deepEqual(made.receiver.calls, [])
})

test('a decision is repeated with its arguments; a call that no person has seen is approved for the note', async () => {
  const decide = () => ({ decision: 'approve' as const, input: { n: 9 }, isStarted: false })
  const made = await caseOf(modelOf([call('send', { n: 1 })]), { decide })
  const replayed = await tryOut(made, modelOf([call('send', { n: 1 }), call('send', { n: 2 })]))
  assert.deepEqual(
    replayed.writes.map(({ tool_input: input, recorded }) => [input, recorded]),
    [
      [{ n: 9 }, true],
      [{ n: 2 }, false],
    ],
  )
  assert.equal(replayed.events.filter(({ type }) => type === 'interrupt').length, 1)
})

test('a rejected write that the candidate makes without a question is an added write', async () => {
  const made = await caseOf(modelOf([call('send', { n: 1 })]), { decide: () => ({ decision: 'reject' }) })
  assert.deepEqual(recordedWrites(made.example), [])
  const free = made.tools.map(({ approval: _approval, ...tool }): Tool => tool)
  const replayed = await tryOut({ ...made, tools: free }, modelOf([call('send', { n: 1 })]))
  assert.deepEqual(compareWrites(recordedWrites(made.example), replayed.writes).added, [{ tool: 'send', tool_input: { n: 1 } }])
})

test('a tool that the candidate does not have ends the replay where the recorded run has used the tool', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const without = made.tools.filter(({ name }) => name !== 'look')
  const { status, divergence } = await tryOut({ ...made, tools: without }, modelOf([call('look', { n: 1 })]))
  assert.deepEqual([status, divergence?.reason], ['diverged', 'tool_missing'])
  const unused = await tryOut({ ...made, tools: without }, modelOf())
  assert.deepEqual([unused.status, unused.divergence], ['completed', undefined])
})

test('a candidate with recorded replies and one tool less has another event, and the replay says which', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const without = made.tools.filter(({ name }) => name !== 'look')
  const { status, divergence, isEqual } = await tryOut({ ...made, tools: without }, modelOf(), { isRecorded: true })
  assert.deepEqual([status, isEqual, divergence?.reason], ['diverged', false, 'tool_missing'])
})

test('the clock shows the time of the recorded run, whatever the zone', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const clock: Tool = { ...made.tools[0]!, name: 'current_time' }
  const model = modelOf([call('current_time', { timezone: 'Europe/Zurich' })])
  const agent = agentOf({ model, tools: [clock], config: { tools: [{ name: 'current_time' }] } })
  const example = { ...made.example, time: Date.parse('2026-11-23T10:00:00Z') }
  const replayed = await replay({ example, agent, owner: ann, requestId: 'replay', signal }, made.recorded.ports)
  const [output] = replayed.events.flatMap((event) => (event.type === 'step_end' ? [event.step.output] : []))
  assert.deepEqual(output, { time: '2026-11-23T11:00:00+01:00', timezone: 'Europe/Zurich', weekday: 'Monday', date: '2026-11-23' })
  assert.equal(replayed.divergence, undefined)
})

test('an example that is written by hand replays as one of a run', async () => {
  const { recorded, tools, receiver } = await caseOf(modelOf())
  const example = toExample(
    {
      name: 'by hand',
      input: { messages: [{ role: 'user', content: 'Refund it.' }] },
      before: [
        { kind: 'message', role: 'human', content: 'Hi.' },
        { kind: 'message', role: 'ai', content: 'Hello.' },
      ],
      recording: [{ parent: null, tool: 'refund', tool_input: { n: 1 }, output: 'ok', status: 'success', effect: 'write' }],
      model_replies: [{ text: '', calls: [call('refund', { n: 1 })] }, { text: 'Refunded.' }],
    },
    { id: 'e', time: 0 },
  )
  const made = { recorded, example, receiver, tools }
  const replayed = await tryOut(made, modelOf(), { isRecorded: true })
  assert.deepEqual(
    [replayed.status, replayed.writes, replayed.ended.message?.content],
    ['completed', [{ tool: 'refund', tool_input: { n: 1 }, n: 1, recorded: true }], 'Refunded.'],
  )
  const asked = new FunctionModel(({ messages }) => ({ events: [{ type: 'text', text: messages.map(({ text }) => text).join('|') }] }))
  assert.equal((await tryOut(made, asked)).ended.message?.content, 'Hi.|Hello.|Refund it.')
})

test('nothing of a replay waits for a person or goes on behind an abort', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const stop = new AbortController()
  const model = new FunctionModel(() => {
    stop.abort()
    return { events: [{ type: 'text', text: 'Half.' }], waitMs: 5 }
  })
  const { ended } = await tryOut(made, model, { signal: stop.signal })
  assert.equal(ended.status, 'cancelled')
})
