import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growsLinearly } from '../../../test/fixtures/processor-time.ts'
import { LinearPattern } from './linear-pattern.ts'

const patterns = [
  'a',
  '^a+$',
  '^(ab|a)*b?$',
  'a{2,3}b',
  '[^a-c]\\d',
  '\\bcat\\b',
  '^$',
  'x|y|',
  '(?:ab){2}',
  'a.c',
  '\\w+@\\w+\\.com',
  'a*?b',
  '(?<n>a)|b',
  '[\\]a]c',
  '\\Bb',
  'é',
  '^(a?){3}a{3}$',
]
const texts = [
  '',
  'a',
  'aa',
  'aab',
  'abab',
  'ababb',
  'b',
  'a cat sat',
  'concat',
  'me@example.com',
  'z9',
  'abc',
  'a\nc',
  ']c',
  'é',
  'aaa',
  '😀',
  'ab\n',
]

test('a pattern matches as in the engine of the platform', () => {
  for (const pattern of patterns) {
    for (const text of texts)
      assert.equal(new LinearPattern(pattern).test(text), new RegExp(pattern, 'u').test(text), `${pattern} in ${JSON.stringify(text)}`)
  }
  assert.ok(new LinearPattern('ÄB', { ignoreCase: true }).test('xäb'))
})

test('a pattern that takes a platform for ever takes as long as its text', () => {
  const evil = new LinearPattern('^(a+)+$')
  assert.ok(
    growsLinearly(
      (parts) => `${'a'.repeat(parts)}!`,
      (text) => evil.test(text),
    ),
  )
})

test('what would need more than one pass, or more than a bounded program, is refused with its reason', () => {
  assert.throws(() => new LinearPattern('(a)\\1'), /back-reference/)
  assert.throws(() => new LinearPattern('(?=a)b'), /look-around/)
  assert.throws(() => new LinearPattern('((a{99}){99}){99}'), /repeats too much/)
  assert.throws(() => new LinearPattern('(a'), SyntaxError)
  assert.throws(() => new LinearPattern('a'.repeat(1001)), /1001 characters/)
})
