import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { PhaseTimes } from '../../concurrency/phase-times.ts'
import { ModelError } from '../../agent/model.ts'
import { fakeTool } from '../../agent/react-fixture.ts'
import type { Tool, ToolListing } from '../../agent/tool.ts'
import type { NewArtifact } from '../../agent/messages.ts'
import { call, providerCall, say, ScriptedModel, texts, type ScriptedReply } from '../../agent/scripted-model.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { agentOf, keyOf, newRun, portsOf } from '../process-fixture.ts'
import { FenceLost, type Turn } from '../run-store.ts'
import { toTranscript } from '../window/window.ts'
import { LiveRun, type LiveRunOptions } from '../ownership/live-run.ts'
import { endAs, execute } from './execute.ts'
import { EndNotStored } from './finish.ts'

/** A run that has its session, as `execute` gets it. */
async function begin(replies: ScriptedReply[], change: Partial<LiveRunOptions> = {}, tools: readonly Tool[] = []) {
  const store = new MemoryRunStore()
  const begun = await store.begin(newRun('r'))
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
  const model = new ScriptedModel(...replies)
  const agent = agentOf({ model, tools })
  const run = new LiveRun({ key: keyOf('r'), sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 1, ...change })
  const faults: unknown[] = []
  const ports = portsOf(store, (_run, error) => faults.push(error))
  const stored = async () => (await store.find(keyOf('r')))!
  return { store, run, turn: begun.turn satisfies Turn, ports, faults, stored }
}

const endOf = ({ log }: LiveRun) => {
  const event = log.events.at(-1)
  return event?.type === 'end' ? event : undefined
}

test('a run ends with the answer: in its log, in its row and in its session', async () => {
  const { store, run, turn, ports, stored } = await begin([say(['Good ', 'day.'])])
  assert.equal(await execute(run, turn, ports), undefined)
  assert.deepEqual(
    [...run.log.events].map((event) => (event.type === 'text' ? event.text : event.type)),
    ['Good ', 'day.', 'end'],
  )
  assert.equal((await stored()).status, 'success')
  const messages = await store.history('t', turn.session, 0)
  assert.deepEqual(
    messages.map(({ role, content }) => `${role}: ${content}`),
    ['human: hello', 'ai: Good day.'],
  )
})

test('a run waits for the tools of its process, which may have just started', async () => {
  const built: ToolListing[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const agent = agentOf({ model: new ScriptedModel(say('', call('look', {})), say('Seen.')) })
  const tools = { ...agent.tools, list: () => built, settling: () => (built.length > 0 ? undefined : promise) }
  const { run, turn, ports } = await begin([], { agent: { ...agent, tools } })
  const executed = execute(run, turn, ports)
  // Time enough for a run that does not wait.
  for (let turns = 0; turns < 50; turns++) await tick()
  built.push(...agentOf({ model: new ScriptedModel(), tools: [fakeTool('look')] }).tools.list())
  resolve()
  await executed
  const step = [...run.log.events].find((event) => event.type === 'step_end')
  assert.deepEqual([step?.type === 'step_end' && step.step.status, endOf(run)?.reason], ['success', 'stop'])
})

test('a run whose model fails ends in an error that its caller may repeat, and no fault of ours', async () => {
  const { run, turn, ports, stored, faults } = await begin([{ events: [], error: new ModelError('unavailable', 'no') }])
  await execute(run, turn, ports)
  assert.equal(endOf(run)?.error?.details?.error_type, 'ModelUnavailable')
  const { status, continuable } = await stored()
  assert.deepEqual({ status, continuable }, { status: 'error', continuable: true })
  assert.deepEqual(faults, [])
})

test('a bug ends the run in an error, and is reported', async () => {
  const bug = new Error('bug')
  const { run, turn, ports, faults } = await begin([{ events: [], error: bug }])
  await execute(run, turn, ports)
  assert.equal(endOf(run)?.reason, 'error')
  assert.deepEqual(faults, [bug])
})

test('a run that is cancelled keeps the text that its reader has seen', async () => {
  const cutOff = new ModelError('unavailable', 'aborted')
  const { store, run, turn, ports, stored } = await begin([{ ...say('Good '), error: cutOff }])
  const append = run.log.append.bind(run.log)
  run.log.append = (event) => {
    append(event)
    if (event.type === 'text') run.stop('cancelled')
  }
  await execute(run, turn, ports)
  assert.equal(endOf(run)?.reason, 'cancelled')
  assert.equal((await stored()).status, 'cancelled')
  assert.equal((await store.history('t', turn.session, 0)).at(-1)?.content, 'Good ')
})

test('a run that is handed over has no end here', async () => {
  const { run, turn, ports, stored } = await begin([{ ...say('Good day.'), before: () => run.stop('handed_over') }])
  await assert.rejects(execute(run, turn, ports))
  assert.equal(endOf(run), undefined)
  assert.equal((await stored()).status, 'running')
})

test('a process that has lost the run stores nothing of it', async () => {
  const { store, run, turn, ports, stored } = await begin([say('Good day.')])
  const by = { holder: 'p2', queueOrder: 1, now: 1, messages: newRun('r').messages }
  await store.takeOver(keyOf('r'), { fence: 1, status: 'running' }, by)
  await assert.rejects(execute(run, turn, ports), FenceLost)
  assert.equal((await stored()).holder, 'p2')
})

test('an end that cannot be stored is thrown with what is to be stored later', async () => {
  const { store, run, turn, ports } = await begin([say('Good day.')])
  store.finish = () => Promise.reject(new Error('The disk is full.'))
  await assert.rejects(execute(run, turn, ports), (error: unknown) => {
    assert.ok(error instanceof EndNotStored)
    assert.equal(error.ended.status, 'error')
    return true
  })
  assert.equal(endOf(run), undefined)
})

test('an orphaned run that does not go on ends as ProcessLost, and may be repeated', async () => {
  const { run, turn, ports, stored } = await begin([])
  await endAs('orphaned', run, turn, ports)
  assert.equal(endOf(run)?.error?.details?.error_type, 'ProcessLost')
  assert.equal((await stored()).continuable, true)
})

test('the time of a run is divided into store, model, tools and the rest, and recorded for its trace', async () => {
  let now = 0
  const pass = (ms: number) => void (now += ms)
  const bothRun = Promise.withResolvers<void>()
  let started = 0
  // Both calls run when the time passes.
  const look = async () => {
    started++
    if (started === 2) pass(50)
    if (started === 2) bothRun.resolve()
    await bothRun.promise
    return 'seen'
  }
  const replies = [
    { ...say('', call('look', {}), call('look', {})), before: () => pass(7) },
    { ...say('Good day.'), before: () => pass(20) },
  ]
  const times = new PhaseTimes({ clock: () => now })
  const { store, run, turn, ports } = await begin(replies, { times }, [fakeTool('look', { execute: look })])
  const { checkpoint, finish } = store
  store.checkpoint = (...of) => (pass(3), checkpoint.apply(store, of))
  store.finish = (...of) => (pass(100), finish.apply(store, of))
  await execute(run, turn, ports)
  const recorded = run.trace.all().findLast(({ type }) => type === 'times')
  assert.deepEqual(recorded, { type: 'times', queue: 0, store: 3, model: 27, tools: 50, people: 0, own: 0 })
  assert.equal(run.times.read().store, 103)
})

test('what the provider wants back is stored with an answer without calls, and sent with the next question', async () => {
  const vendor = { provider: 'p', model: 'm', data: { signed: 'x' } }
  const { store, run, turn, ports } = await begin([{ ...say('Good day.'), reply: { vendor } }])
  await execute(run, turn, ports)
  const [human, ai] = await store.history('t', turn.session, 0)
  assert.deepEqual(ai?.data?.transcript, [{ role: 'assistant', text: 'Good day.', toolCalls: [], vendor }])
  const { messages } = toTranscript({
    history: [human!, ai],
    messageIndex: 2,
    requestId: 'r2',
    messages: [{ role: 'user', content: 'And?' }],
    tokens: 1000,
  })
  assert.deepEqual(messages[1], { role: 'assistant', text: 'Good day.', toolCalls: [], vendor })
})

test('a plain answer stores no transcript', async () => {
  const { store, run, turn, ports } = await begin([say('Good day.')])
  await execute(run, turn, ports)
  const [, ai] = await store.history('t', turn.session, 0)
  assert.equal('transcript' in (ai?.data ?? {}), false)
})

test('the sources of the answer are its citations, also behind a call of the provider', async () => {
  const sources = [
    { url: 'https://a.example/rules', title: 'Rules', text: 'Twenty-five days.', start: 3, end: 8 },
    { url: 'https://b.example/', title: '' },
  ]
  const searching = [...texts('A. '), ...providerCall('web_search', {}, { hits: 2 }), ...texts('B is so.')]
  const { run, turn, ports, store } = await begin([{ events: searching, reply: { sources } }])
  await execute(run, turn, ports)
  const web = { tool: 'web_search', heading: '', start: 0 }
  const expected = [
    {
      ...web,
      file: 'Rules',
      url: 'https://a.example/rules',
      title: 'Rules',
      end: 17,
      text: 'Twenty-five days.',
      answerStart: 3,
      answerEnd: 8,
    },
    { ...web, file: 'b.example', url: 'https://b.example/', title: 'b.example', end: 0, text: '', answerStart: 0, answerEnd: 11 },
  ]
  assert.deepEqual(endOf(run)?.citations, expected)
  const [, ai] = await store.history('t', turn.session, 0)
  assert.deepEqual([ai?.content, ai?.data?.citations, ai?.data?.transcript], ['A. B is so.', expected, undefined])
})

test('files of the model are files of the answer, and later questions name them', async () => {
  const files = [{ mediaType: 'image/png', data: 'UE5H' }]
  const { run, turn, ports, store } = await begin([{ events: [], reply: { files } }])
  const keeper =
    () =>
    async ({ name, type, tool }: NewArtifact) => ({ id: 'a1', name, type, size: 3, sha256: '', tool, createdAt: 1 })
  await execute(run, turn, { ...ports, keeper })
  assert.deepEqual(
    [endOf(run)?.reason, endOf(run)?.files?.made.map(({ name, tool }) => [name, tool])],
    ['stop', [['image-1.png', 'scripted-1']]],
  )
  const [human, ai] = await store.history('t', turn.session, 0)
  assert.equal(ai?.data?.artifacts?.[0]?.name, 'image-1.png')
  const { messages } = toTranscript({
    history: [human!, ai],
    messageIndex: 2,
    requestId: 'r2',
    messages: [{ role: 'user', content: 'Bluer.' }],
    tokens: 1000,
  })
  assert.equal(messages[1]?.text, '(The answer: image-1.png.)')
})

test('the checkpoint of a turn may be undone only where the turn executes nothing but reads', async () => {
  const replies = [say('', call('look', {})), say('', call('look', {}), call('send', {})), say('Done.')]
  const tools = [fakeTool('look'), fakeTool('send', { effect: 'write' })]
  const { store, run, turn, ports } = await begin(replies, {}, tools)
  const repeatable: (true | undefined)[] = []
  const { checkpoint } = store
  store.checkpoint = (...of) => (repeatable.push(of[4]?.isRepeatable), checkpoint.apply(store, of))
  await execute(run, turn, ports)
  // The turn of reads, the turn with a write, and the result of the write.
  assert.deepEqual(repeatable, [true, undefined, undefined])
})
