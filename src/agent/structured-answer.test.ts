import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRepair, withoutRepairs } from './history.ts'
import type { AnswerSchema } from './options.ts'
import type { Message } from './messages.ts'
import { planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, story, type Traits, type StoryEvent } from './react-fixture.ts'
import { react } from './loop.ts'
import { call, fail, say, ScriptedModel, type ScriptedReply } from './scripted-model.ts'

/** Accepts the text `good` alone. */
const answerSchema: AnswerSchema = {
  schema: { const: 'good' },
  maxRepairs: 2,
  faultOf: async (text) => (text === '"good"' ? undefined : 'it must be "good"'),
}

const bad = () => say(['"b', 'ad"'])
const good = () => say(['"go', 'od"'])

/** The story without the texts of instructions. */
const shortStory = (events: readonly StoryEvent[]) => story(events).map((line) => (line.startsWith('instruction: ') ? 'repair' : line))

async function run(script: ScriptedReply[], traits: Traits = {}, loop = react) {
  const model = new ScriptedModel(...script)
  const options = optionsOf(model, { answerSchema, ...traits })
  const events = await eventsOf(options, undefined, loop)
  model.assertComplete()
  return { lines: shortStory(events), end: events.at(-1), model, messages: options.messages }
}

test('an answer that fits ends the run; the model knows the schema', async () => {
  const { lines, end, model } = await run([good()])
  assert.deepEqual(lines, ['answer: "go', 'answer: od"', 'turn', 'end: stop'])
  assert.deepEqual(end, { type: 'end', reason: 'stop', structured: true })
  assert.match(model.requests[0]!.system, /^Be brief\.\n\n[^]*\{"const":"good"\}$/)
  assert.deepEqual(model.requests[0]!.responseSchema, { const: 'good' })
})

test('an answer that does not fit is corrected by the model, without tools', async () => {
  const { lines, end, model, messages } = await run([bad(), good()], { tools: [fakeTool('look')] })
  const begin = ['answer: "b', 'answer: ad"', 'turn']
  assert.deepEqual(lines, [...begin, 'retrying', 'repair', 'answer: "go', 'answer: od"', 'turn', 'end: stop'])
  assert.deepEqual(end, { type: 'end', reason: 'stop', structured: true })
  assert.deepEqual(
    model.requests.map(({ tools }) => tools.length),
    [1, 0],
  )
  assert.match(model.requests[1]!.messages.at(-1)!.text, /^Your answer is not valid: it must be "good"\./)
  assert.deepEqual(
    withoutRepairs(messages).map(({ text }) => text),
    ['Go.', '"good"'],
  )
})

test('a run whose repairs do not help ends with the last text', async () => {
  const { lines, end } = await run([bad(), bad(), say('"worse"')])
  assert.equal(lines.filter((line) => line === 'retrying').length, 2)
  assert.deepEqual(end, { type: 'end', reason: 'schema_mismatch', mismatch: { text: '"worse"', fault: 'it must be "good"' } })
})

test('no repairs: the first answer counts', async () => {
  const { end } = await run([bad()], { answerSchema: { ...answerSchema, maxRepairs: 0 } })
  assert.equal(end?.type === 'end' && end.reason, 'schema_mismatch')
})

test('the schema binds the answer, not the text before a tool call', async () => {
  const { lines, model } = await run([say('Let me look.', call('look', {})), good()], { tools: [fakeTool('look')] })
  assert.equal(lines.at(-1), 'end: stop')
  assert.deepEqual(
    model.requests.map(({ tools }) => tools.length),
    [1, 1],
  )
})

test('a fence around the answer is taken off, in the transcript too', async () => {
  const { lines, messages } = await run([say(['```json\n"go', 'od"\n', '```'])])
  assert.deepEqual(lines, ['answer: "go', 'answer: od"', 'turn', 'end: stop'])
  assert.equal(messages.at(-1)?.text, '"good"')
})

test('repairs are possible after the last iteration', async () => {
  const { end } = await run([bad(), good()], { maxIterations: 1, tools: [fakeTool('look')] })
  assert.deepEqual(end, { type: 'end', reason: 'stop', structured: true })
})

test('a plan and its steps are free text; the closing answer has the schema', async () => {
  const script = [say('["A.", "B."]'), say('A is 1.'), say('B is 2.'), bad(), good()]
  const { end, model } = await run(script, { tools: [fakeTool('look')] }, planExecute)
  assert.deepEqual(end, { type: 'end', reason: 'stop', structured: true })
  assert.deepEqual(
    model.requests.map(({ responseSchema }) => responseSchema !== undefined),
    [false, false, false, true, true],
  )
})

test('a process that takes over goes on with the repair', async () => {
  for (const loop of [react, planExecute]) {
    const first = await run([say('["Do it."]'), bad(), bad(), good()].slice(loop === react ? 1 : 0), {}, loop)
    const repairs = first.messages.flatMap((message, at) => (isRepair(message) ? [at + 1] : []))
    const second = await run([good()], { messages: first.messages.slice(0, repairs[1]) }, loop)
    assert.deepEqual(second.lines, ['answer: "go', 'answer: od"', 'turn', 'end: stop'])
    const last = await run([bad()], { messages: first.messages.slice(0, repairs[1]) }, loop)
    assert.equal(last.lines.at(-1), 'end: schema_mismatch')
  }
})

test('a failed run that is repeated gets repairs of its own', async () => {
  for (const loop of [react, planExecute]) {
    const failed = await run([say('["Do it."]'), bad(), bad(), bad()].slice(loop === react ? 1 : 0), {}, loop)
    const again = await run([bad(), good()], { messages: failed.messages }, loop)
    assert.equal(again.lines.filter((line) => line === 'retrying').length, 2)
    assert.deepEqual(again.end, { type: 'end', reason: 'stop', structured: true })
  }
})

test('a run that is out of time has no answer in another form; a cancelled run needs none', async () => {
  for (const [reason, expected] of [
    ['timeout', { type: 'end', reason: 'schema_mismatch', mismatch: { text: '"bad"', fault: 'it must be "good"', cause: 'timeout' } }],
    ['cancelled', { type: 'end', reason: 'cancelled' }],
  ] as const) {
    const stop = new AbortController()
    const script = [bad(), { ...good(), before: () => stop.abort() }]
    const { end } = await run(script, { signal: stop.signal, stopReason: () => reason })
    assert.deepEqual(end, expected)
  }
})

test('an answer that the provider stopped is not repaired; a model that fails in a repair fails the run', async () => {
  const filtered = await run([{ ...bad(), reply: { finish: 'content_filter' } }])
  assert.equal(filtered.lines.at(-1), 'end: schema_mismatch')
  await assert.rejects(run([bad(), fail()]), { name: 'ModelError' })
})

test('a broken stream begins the fence anew', async () => {
  const events: ScriptedReply = {
    events: [{ type: 'text', text: '```json\n"g' }, { type: 'retrying' }, { type: 'text', text: '```json\n"good"\n```' }],
  }
  const { lines, messages } = await run([events])
  assert.deepEqual(lines, ['answer: "g', 'retrying', 'answer: "good"', 'turn', 'end: stop'])
  assert.deepEqual(messages.at(-1), { role: 'assistant', text: '"good"', toolCalls: [] } satisfies Message)
})

test('an answer without its fence has no data of the provider, which holds the fence', async () => {
  const vendor = { provider: 'some', data: { text: 'fenced' } }
  const { messages } = await run([{ ...say('```json\n"good"\n```'), reply: { vendor } }])
  assert.deepEqual(messages.at(-1), { role: 'assistant', text: '"good"', toolCalls: [] })
})
