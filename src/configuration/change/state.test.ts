import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource, toContent } from './change.ts'
import { maskText } from './mask-text.ts'
import { changeState, editState, patchState, type ConfigurationState, type RequestedChange } from './state.ts'

const text = '# Ours.\nname: One  # called so\nmax_iterations: 5\n'
const rules = { allowedReferences: [], mayBringCode: false, grantable: new Set(['chat']) }

function stateOf(yaml: string): ConfigurationState {
  const stored = parseSource(yaml)
  return { stored, used: stored }
}

test('a stored change is written to the text, keeps comments, and is in use', () => {
  const { stored, used } = patchState(stateOf(text), { name: 'Two' }, { isStored: true, rules })
  assert.equal(stored.text, text.replace('One', 'Two'))
  assert.equal(used.data, stored.data)
})

test('a change in memory is only in use; a later stored change is stored and in use', () => {
  const first = patchState(stateOf(text), { name: 'Memory' }, { isStored: false, rules })
  assert.deepEqual({ text: first.stored.text, name: first.used.config.name }, { text, name: 'Memory' })
  const second = patchState(first, { max_iterations: 6 }, { isStored: true, rules })
  assert.equal(second.stored.text, text.replace('5', '6'))
  assert.deepEqual(
    { name: second.used.config.name, max_iterations: second.used.config.max_iterations },
    { name: 'Memory', max_iterations: 6 },
  )
})

test('an edit of the stored text is stored literally', () => {
  const edited = parseSource(`${text}# More.\ndescription: New.\n`)
  const state = stateOf(text)
  const next = editState(state, state.stored.data, edited)
  assert.equal(next.stored, edited)
  assert.equal(next.used, edited)
})

test('an edit of a former text is merged with later changes in the edited text', () => {
  const since = patchState(stateOf(text), { description: 'By PUT.' }, { isStored: true, rules })
  const edited = parseSource(text.replace('One', 'Edited'))
  const { stored, used } = editState(since, parseSource(text).data, edited)
  assert.equal(stored.text, `${text.replace('One', 'Edited')}description: By PUT.\n`)
  assert.deepEqual(used.data, { name: 'Edited', max_iterations: 5, description: 'By PUT.' })
})

test('values removed by an edit are removed, and unedited values keep later changes', () => {
  const since = patchState(stateOf(text), { name: 'By PUT' }, { isStored: true, rules })
  const { stored } = editState(since, parseSource(text).data, parseSource('name: One  # called so\n'))
  assert.deepEqual({ text: stored.text, data: stored.data }, { text: 'name: By PUT  # called so\n', data: { name: 'By PUT' } })
})

test('an edited model is taken over whole: the key is not sent to an address set in memory', () => {
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

test('an edit of the file keeps a change in memory in use', () => {
  const used = toContent({ name: 'Memory', max_iterations: 5 })
  const state = { stored: parseSource(text), used }
  const next = editState(state, state.stored.data, parseSource(text.replace('5', '7')))
  assert.deepEqual(
    { max_iterations: next.stored.config.max_iterations, data: next.used.data },
    { max_iterations: 7, data: { name: 'Memory', max_iterations: 7 } },
  )
})

test('a change does not show secrets of comments', () => {
  const commented = [
    'llms:',
    '  primary:',
    '    provider: openai',
    '    model: m',
    '    api_key: sk-first-key # sk-first-key is of team a',
    '# headers:',
    '#   X-Team: hdr-secret',
    '',
  ].join('\n')
  const stored = parseSource(commented)
  const shown = maskText(stored)
  const keepsSecrets = (change: RequestedChange) => {
    const next = changeState({ stored, used: stored }, change, { isStored: true, rules }).stored
    assert.doesNotMatch(maskText(next), /sk-first|hdr-secret/)
    return next.text
  }
  keepsSecrets({ kind: 'text', text: shown.replace('# headers:\n', '') })
  keepsSecrets({ kind: 'text', text: shown.replace(/api_key: "?\*+"?/, 'api_key: sk-other-key') })
  keepsSecrets({ kind: 'patch', patch: { llms: { primary: { api_key: 'sk-other-key' } } } })
  const kept = keepsSecrets({ kind: 'text', text: `name: agent\n${shown}` })
  assert.ok(kept.includes('# sk-first-key is of team a') && kept.includes('#   X-Team: hdr-secret'), kept)
})
