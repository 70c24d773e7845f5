import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../agent/model.ts'
import { say, ScriptedModel } from '../agent/scripted-model.ts'
import { maxMemories, type Memory, type NewMemory, type Origin } from './memory.ts'
import { merge } from './merge.ts'

function known(...contents: string[]): Memory[] {
  return contents.map((content, at) => ({ ...found(content), id: `k${at}`, createdAt: at, updatedAt: at, vector: undefined }))
}

function found(content: string, origin: Origin = 'user'): NewMemory {
  return { kind: 'fact', origin, content }
}

/** The changes, as words. */
async function changes(news: NewMemory[], of: readonly Memory[], model?: Model): Promise<string[]> {
  let ids = 0
  const made = await merge(news, of, { model, now: 99, newId: () => `n${ids++}`, signal: new AbortController().signal })
  return made.map((change) => {
    if (change.kind === 'add') return `add ${change.memory.content}`
    return change.kind === 'retract' ? change.kind : `${change.kind} ${change.id}`
  })
}

test('an existing memory is confirmed, whatever its case and punctuation', async () => {
  assert.deepEqual(await changes([found('the user LIKES tea')], known('The user likes tea.')), ['confirm k0'])
})

test('without a model, the later of two exclusive statements holds', async () => {
  for (const [before, after] of [
    ['The user lives in Paris.', 'The user lives in Rome.'],
    ["The user's name is Ada.", "The user's name is Grace."],
    ['The user wants answers in German.', 'The user wants answers in French.'],
    ['The user works at ACME.', 'The user works for Initech.'],
  ] as const)
    assert.deepEqual(await changes([found(after)], known('x', before)), ['remove k1', `add ${after}`], after)
})

test('without a model, compatible statements are both stored', async () => {
  for (const [before, after] of [
    ['The user likes tea.', 'The user likes coffee.'],
    ["The user's dog is Rex.", "The user's cat is Tom."],
    ['The user wants answers in German.', 'The user wants answers in bullet points.'],
    ['The user is a nurse.', 'The user is a runner.'],
  ] as const)
    assert.deepEqual(await changes([found(after)], known(before)), [`add ${after}`], after)
})

test('of two exclusive statements in one message the later holds, and duplicates count once', async () => {
  const news = ['The user lives in Paris.', 'The user lives in Rome.', 'The user lives in Rome!'].map((content) => found(content))
  assert.deepEqual(await changes(news, []), ['add The user lives in Rome.'])
})

test('a model decides about similar memories; its invalid answers are left to the rules', async () => {
  const memories = known('The user drinks tea every day.', 'The user lives in Paris.')
  const asked = new ScriptedModel(
    say(
      '[{"new": 1, "decision": "replace", "known": 1}, {"new": 2, "decision": "same", "known": 77}, {"new": 9, "decision": "same", "known": 1}]',
    ),
  )
  assert.deepEqual(await changes([found('The user stopped drinking tea.'), found('The user lives in Rome.')], memories, asked), [
    'remove k0',
    'remove k1',
    'add The user stopped drinking tea.',
    'add The user lives in Rome.',
  ])
  const same = new ScriptedModel(say('[{"new": 1, "decision": "same", "known": 1}]'))
  assert.deepEqual(await changes([found('Tea is what the user drinks daily.')], memories, same), ['confirm k0'])
})

test('no model is asked without similar memories, or for an identical one', async () => {
  const silent = new ScriptedModel()
  assert.deepEqual(await changes([found('The user likes tea.'), found('Quite another matter.')], known('The user likes tea.'), silent), [
    'confirm k0',
    'add Quite another matter.',
  ])
  silent.assertComplete()
})

test('memories of tools neither replace nor confirm those of the user', async () => {
  const memories = known("The user's name is Ada.", 'The user lives in Rome.')
  const tools = [found("The user's name is Mallory.", 'tool'), found('The user lives in Rome.', 'tool')]
  assert.deepEqual(await changes(tools, memories, new ScriptedModel()), ["add The user's name is Mallory.", 'add The user lives in Rome.'])
})

test('beyond the limit the memories with the oldest statements are removed', async () => {
  const many = known(...Array.from({ length: maxMemories }, (_, at) => `Fact ${at}.`))
  many[0]!.updatedAt = maxMemories
  assert.deepEqual(await changes([found('Something new.'), found('And another.')], many), [
    'add Something new.',
    'add And another.',
    'remove k1',
    'remove k2',
  ])
})
