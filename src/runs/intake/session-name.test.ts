import { test } from 'node:test'
import assert from 'node:assert/strict'
import { shortName } from './open.ts'

const nameOf = (content: string) => shortName([{ role: 'user', content }])

test('a short message is the name, on one line', () => {
  assert.equal(nameOf('  What is\n\n2 + 3?  '), 'What is 2 + 3?')
  assert.equal(nameOf('x'.repeat(60)), 'x'.repeat(60))
  assert.equal(nameOf(''), '')
})

test('a long message is cut at a word to 60 characters at most', () => {
  assert.equal(nameOf('word '.repeat(20)), `${'word '.repeat(12).trim()}…`)
  assert.equal(nameOf('a'.repeat(100)), `${'a'.repeat(59)}…`)
  for (let length = 1; length < 130; length++) assert.ok(nameOf(`${'a'.repeat(length)} ${'b'.repeat(130)}`).length <= 60)
})

test('a word that ends at the limit is kept', () => {
  assert.equal(nameOf(`${'a'.repeat(40)} ${'b'.repeat(18)} more`), `${'a'.repeat(40)} ${'b'.repeat(18)}…`)
})

test('a cut does not split a surrogate pair', () => {
  assert.ok(nameOf(`${'a'.repeat(58)}😀${'b'.repeat(50)}`).isWellFormed())
})

test('leading blanks are ignored', () => {
  assert.equal(nameOf(`${' '.repeat(1000)}Hello`), 'Hello')
})

test('the name comes from the first message of the user', () => {
  assert.equal(
    shortName([
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'Welcome.' },
      { role: 'user', content: 'First' },
      { role: 'user', content: 'Second' },
    ]),
    'First',
  )
})
