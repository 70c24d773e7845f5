import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSearch, toIndexFindings } from './search.ts'

test('the check of search names what gives meanings', () => {
  const embedding = { provider: 'openai', model: 'small' }
  assert.match(checkSearch({ settings: { embeddedEncoder: true }, embedding }).text, /with openai small \(llms\.embedding\)$/)
  assert.match(
    checkSearch({ settings: { embeddedEncoder: false }, embedding: undefined }).text,
    /words alone, because EMBEDDED_ENCODER is off$/,
  )
  assert.match(checkSearch({ settings: { embeddedEncoder: true }, embedding: undefined }).text, /in English, by meaning, with the embedded/)
})

test('each index with passages is listed with its state', () => {
  const index = { name: 'docs', documents: 2, passages: 9, embedded: 4 }
  const findings = toIndexFindings([
    { ...index, passages: 0, state: 'waiting' },
    { ...index, state: 'indexing' },
    { ...index, state: 'failed', reason: 'no memory' },
    { ...index, label: 'handbook, rules', state: 'words' },
  ])
  assert.deepEqual(
    findings.map(({ state, text }) => `${state} ${text}`),
    [
      'ok search index docs: 9 passages of 2 documents, 4 with vectors; the others are being computed',
      'warn search index docs: 9 passages of 2 documents, 4 with vectors: no memory',
      'ok search index of handbook, rules: 9 passages of 2 documents',
    ],
  )
})
