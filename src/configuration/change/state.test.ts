import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../source.ts'
import { toContent } from './change.ts'
import { editState, patchState, type ConfigurationState } from './state.ts'

const text = '# Ours.\nname: One  # called so\nmax_iterations: 5\n'
const rules = { allowedReferences: [], mayBringCode: false }

function stateOf(yaml: string): ConfigurationState {
  const stored = parseSource(yaml)
  return { stored, used: stored }
}

test('a stored change is in the text, with its comments, and in what is used', () => {
  const { stored, used } = patchState(stateOf(text), { name: 'Two' }, { isStored: true, rules })
  assert.equal(stored.text, text.replace('One', 'Two'))
  assert.equal(used.data, stored.data)
})

test('a change in memory is in what is used alone, and a stored one after it in both', () => {
  const first = patchState(stateOf(text), { name: 'Memory' }, { isStored: false, rules })
  assert.deepEqual([first.stored.text, first.used.config.name], [text, 'Memory'])
  const second = patchState(first, { max_iterations: 6 }, { isStored: true, rules })
  assert.equal(second.stored.text, text.replace('5', '6'))
  assert.deepEqual([second.used.config.name, second.used.config.max_iterations], ['Memory', 6])
})

test('an edit of what is stored is what is stored, to the letter', () => {
  const edited = parseSource(`${text}# More.\ndescription: New.\n`)
  const state = stateOf(text)
  const next = editState(state, state.stored.data, edited)
  assert.equal(next.stored, edited)
  assert.equal(next.used, edited)
})

test('an edit of what was stored before counts beside what has changed since, in the editor’s text', () => {
  const since = patchState(stateOf(text), { description: 'By PUT.' }, { isStored: true, rules })
  const edited = parseSource(text.replace('One', 'Edited'))
  const { stored, used } = editState(since, parseSource(text).data, edited)
  assert.equal(stored.text, `${text.replace('One', 'Edited')}description: By PUT.\n`)
  assert.deepEqual(used.data, { name: 'Edited', max_iterations: 5, description: 'By PUT.' })
})

test('what an edit removes is removed, and what it leaves as it was stays as others have it', () => {
  const since = patchState(stateOf(text), { name: 'By PUT' }, { isStored: true, rules })
  const { stored } = editState(since, parseSource(text).data, parseSource('name: One  # called so\n'))
  assert.deepEqual([stored.text, stored.data], ['name: By PUT  # called so\n', { name: 'By PUT' }])
})

test('a model that was edited is as the editor has it: its key is not for an address that somebody put over it', () => {
  const model = (address: string, key: string) =>
    `llms: {primary: {provider: openai-compatible, model: m, base_url: "${address}", api_key: ${key}}}\n`
  const before = parseSource(model('https://ours.example/v1', 'old'))
  const now = stateOf(model('https://other.example/v1', 'theirs'))
  const { stored } = editState(now, before.data, parseSource(model('https://ours.example/v1', 'new')))
  assert.deepEqual(stored.config.llms.primary, {
    provider: 'openai-compatible',
    model: 'm',
    base_url: 'https://ours.example/v1',
    api_key: 'new',
  })
})

test('an edit under a change in memory leaves that in use', () => {
  const used = toContent({ name: 'Memory', max_iterations: 5 })
  const state = { stored: parseSource(text), used }
  const next = editState(state, state.stored.data, parseSource(text.replace('5', '7')))
  assert.deepEqual([next.stored.config.max_iterations, next.used.data], [7, { name: 'Memory', max_iterations: 7 }])
})
