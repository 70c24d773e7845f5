import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from './events.ts'
import { ModelError, type ModelEvent } from './model.ts'
import { maxProviderSteps } from './provider-steps.ts'
import { eventsOf, fakeTool, optionsOf, story, type StoryEvent } from './react-fixture.ts'
import { call, providerCall, say, ScriptedModel, texts } from './scripted-model.ts'

const webSearch = fakeTool('web_search', { provider: { tool: 'web_search', config: {} } })
const stepsOf = (events: readonly StoryEvent[]): Step[] => events.flatMap((event) => (event.type === 'step_end' ? [event.step] : []))
const found = (id = 'p1') => providerCall('web_search', { query: 'x' }, { hits: 2 }, { id })

async function run(events: ModelEvent[], traits = {}) {
  const options = optionsOf(new ScriptedModel({ events }), { tools: [webSearch], ...traits })
  return { options, events: await eventsOf(options) }
}

/** The answer text behind the last event with another label: what readers take for the answer. */
function outputOf(events: readonly StoryEvent[]): string {
  let output = ''
  for (const event of events) {
    if (event.type === 'text') output = event.label === 'answer' ? output + event.text : ''
    else if (event.type === 'retrying' || event.type === 'step_start' || event.type === 'step_end') output = ''
  }
  return output
}

test('a call of the provider is a step, and the text around the call is one answer', async () => {
  const { options, events } = await run([...texts('I look. '), ...found(), ...texts('It ', 'is so.')])
  assert.deepEqual(story(events), [
    'answer: I look. ',
    'c1 starts: web_search {"query":"x"}',
    'c1 ends: success',
    'answer: I look. ',
    'answer: It ',
    'answer: is so.',
    'turn',
    'end: stop',
  ])
  assert.equal(outputOf(events), 'I look. It is so.')
  assert.equal(options.messages.at(-1)?.text, 'I look. It is so.')
  const [step] = stepsOf(events)
  assert.deepEqual([step?.output, step?.isOfProvider, step?.effect], [{ hits: 2 }, true, undefined])
})

test('an answer with several calls of the provider is the whole text, also where a call is last', async () => {
  const { events } = await run([...texts('A'), ...found('p1'), ...texts('B'), ...found('p2'), ...texts('C'), ...found('p3')])
  assert.equal(outputOf(events), 'ABC')
  assert.equal(stepsOf(events).length, 3)
})

test('thoughts between the calls of the provider are not held back', async () => {
  const thought = { type: 'reasoning' as const, text: 'Hm.' }
  const { events } = await run([...texts('A'), ...found(), thought, ...texts('B')])
  assert.deepEqual(story(events).slice(3), ['reasoning: Hm.', 'answer: A', 'answer: B', 'turn', 'end: stop'])
  assert.equal(outputOf(events), 'AB')
})

test('a retried attempt ends the open steps as errors', async () => {
  const [start] = found()
  const { events } = await run([start!, { type: 'retrying' }, ...found(), ...texts('Done.')])
  assert.deepEqual(story(events).slice(0, 5), [
    'c1 starts: web_search {"query":"x"}',
    'c1 ends: error',
    'retrying',
    'c2 starts: web_search {"query":"x"}',
    'c2 ends: success',
  ])
  assert.deepEqual(stepsOf(events)[0]?.output, { error: "The model's answer broke off." })
})

test('a step that the provider leaves open is ended with the reply, and with a failure', async () => {
  const [start] = found()
  const { events } = await run([start!, ...texts('Done.')])
  assert.deepEqual(
    stepsOf(events).map(({ status }) => status),
    ['error'],
  )
  assert.equal(outputOf(events), 'Done.')
  const failing = new ScriptedModel({ events: [start!], error: new ModelError('unavailable', 'down') })
  const seen: StoryEvent[] = []
  await assert.rejects(
    eventsOf(optionsOf(failing, { tools: [webSearch] }), (event) => seen.push(event)),
    ModelError,
  )
  assert.deepEqual(stepsOf(seen)[0]?.output, { error: "The model's answer broke off." })
})

test('what a provider reports is bounded: the output by the limit of the tool, the number of steps, the depth', async () => {
  const tools = [fakeTool('web_search', { maxOutputCharacters: 100, provider: webSearch.provider! })]
  const { events } = await run(providerCall('web_search', 'words', 'x'.repeat(500)), { tools })
  const [step] = stepsOf(events)
  assert.match(String(step?.output), /^x{100}\n\[cut: 400 of 500/)
  assert.deepEqual(step?.input, { input: 'words' })
  const many = Array.from({ length: maxProviderSteps + 5 }, (_, at) => found(`p${at}`)).flat()
  assert.equal(stepsOf((await run([...many, ...texts('Done.')])).events).length, maxProviderSteps)
  let deep: unknown = 1
  for (let level = 0; level < 50_000; level++) deep = [deep]
  assert.equal(stepsOf((await run(providerCall('web_search', {}, deep as never))).events)[0]?.output, '[nested too deeply]')
})

test('a tool of the provider is offered as such, and an ordinary call of it runs nothing', async () => {
  let hasRun = false
  const tool = { ...webSearch, execute: async () => (hasRun = true) }
  const model = new ScriptedModel(say('', call('web_search', {})), say('Without.'))
  const options = optionsOf(model, { tools: [tool] })
  const events = await eventsOf(options)
  assert.deepEqual(model.requests[0]?.tools[0]?.provider, { tool: 'web_search', config: {} })
  assert.equal(hasRun, false)
  assert.deepEqual(
    stepsOf(events).map(({ status }) => status),
    ['error'],
  )
  assert.match(String(options.messages.find(({ role }) => role === 'tool')?.text), /web_search can't be called: only the provider/)
})
