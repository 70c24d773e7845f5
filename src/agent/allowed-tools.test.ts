import assert from 'node:assert/strict'
import { test } from 'node:test'
import { narrowingOf } from './allowed-tools.ts'
import type { Message } from './messages.ts'
import { eventsOf, fakeTool, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

/** Loads a skill that allows the tools named. */
const load = (lists: Record<string, string[] | undefined>): Tool =>
  fakeTool('load_skill', {
    isAlwaysAllowed: true,
    execute: async ({ name }) => {
      if (!Object.hasOwn(lists, String(name))) throw new Error('There is no such skill.')
      const allowed = lists[String(name)]
      return { skill: String(name), ...(allowed && { allowed_tools: allowed }), instructions: 'Do it.' }
    },
  })

const others = ['look', 'refund', 'shop__list', 'shop__pay'].map((name) => fakeTool(name, { effect: name === 'look' ? 'read' : 'write' }))

async function resultsOf(lists: Record<string, string[] | undefined>, ...turns: ReturnType<typeof call>[][]) {
  const model = new ScriptedModel(...turns.map((calls) => say('', ...calls)), say('Done.'))
  const events = await eventsOf(optionsOf(model, { tools: [...others, load(lists)], hasSkills: true }))
  return story(events).filter((line) => line.includes(' result') && !line.includes('"skill"'))
}

const loads = (name: string) => call('load_skill', { name })
const refused = (tool: string, skills: string) =>
  `result (error): ${tool} can't be used in this run: allowed-tools of the loaded skills (${skills}) do not name it.`

test('a loaded skill with a list leaves the tools of the list, and the tools of skills', async () => {
  const results = await resultsOf(
    { refunds: ['look'] },
    [call('refund', {})],
    [loads('refunds')],
    [call('refund', {}), call('look', {}), loads('refunds')],
  )
  assert.equal(results.length, 3)
  assert.match(results[0]!, /result: ok/)
  assert.ok(results[1]!.includes(refused('refund', 'refunds')), results[1])
  assert.match(results[2]!, /result: ok/)
})

test('several lists allow what one of them allows, and a skill without a list neither narrows nor widens', async () => {
  const results = await resultsOf(
    { a: ['look'], b: ['shop'], c: undefined },
    [loads('c')],
    [call('refund', {})],
    [loads('a'), loads('b'), loads('c')],
    [call('look', {}), call('shop__list', {}), call('shop__pay', {}), call('refund', {})],
  )
  assert.deepEqual(
    results.map((line) => line.includes('(error)')),
    [false, false, false, false, true],
  )
  assert.ok(results[4]!.includes(refused('refund', 'a, b')), results[4])
})

test('an empty list allows nothing, and a skill that could not be loaded narrows nothing', async () => {
  const results = await resultsOf({ none: [] }, [loads('absent')], [call('look', {})], [loads('none')], [call('look', {})])
  assert.deepEqual(
    results.map((line) => line.includes("can't be used in this run")),
    [false, false, true],
  )
})

test('a refused write is neither started nor waits for an approval', async () => {
  const runs: string[] = []
  const refund = fakeTool('refund', { effect: 'write', approval: { by: 'caller' }, execute: async () => runs.push('refund') })
  const model = new ScriptedModel(say('', loads('a')), say('', call('refund', {})), say('Done.'))
  const events = await eventsOf(optionsOf(model, { tools: [refund, load({ a: ['look'] })], hasSkills: true, decisionFor: () => undefined }))
  assert.deepEqual([events.at(-1)?.type, runs], ['end', []])
})

test('a call of the same turn as load_skill runs: the model asked for it before it read the skill', async () => {
  const results = await resultsOf({ a: [] }, [call('refund', {}), loads('a')])
  assert.match(results[0]!, /result: ok/)
})

test('a tool of the provider is not offered where the list does not name it', async () => {
  const provider = fakeTool('web', { provider: { tool: 'web_search', settings: {} } as never })
  const model = new ScriptedModel(say('', loads('a')), say('Done.'))
  await eventsOf(optionsOf(model, { tools: [...others, provider, load({ a: ['look'] })], hasSkills: true }))
  const names = model.requests.map(({ tools }) => tools.map(({ name }) => name))
  assert.ok(names[0]!.includes('web'))
  assert.ok(!names[1]!.includes('web'))
  // Other tools stay on offer: the beginning of the prompt is the same.
  assert.deepEqual(
    names[1],
    names[0]!.filter((name) => name !== 'web'),
  )
})

test('the narrowing ends with the run, and is read from the transcript alone', () => {
  const result = (text: string, isError = false): Message => ({ role: 'tool', callId: 'c', name: 'load_skill', text, isError })
  const loaded = result('{"skill":"a","allowed_tools":["look"],"files":[],"instructions":"x"}')
  const question: Message = { role: 'user', text: 'Go.' }
  assert.equal(narrowingOf([question, loaded])?.allows({ name: 'refund' }), false)
  assert.equal(
    narrowingOf([question, loaded, { role: 'user', text: 'Shorter.', steer: { id: 'm', position: 1, rank: 1 } }]) === undefined,
    false,
  )
  assert.equal(narrowingOf([question, loaded, question]), undefined)
  assert.equal(narrowingOf([question, result('{"skill":"a","allowed_tools":["look"]', true)]), undefined)
  assert.equal(narrowingOf([question, { ...loaded, name: 'other' } as Message]), undefined)
  const cut = result('{"skill":"a","allowed_tools":["look"],"files":[],"instr\n[Cut]')
  assert.deepEqual(narrowingOf([question, cut])?.skills, ['a'])
})
