import assert from 'node:assert/strict'
import { test } from 'node:test'
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

test('a pattern matches as in the engine of the platform', async () => {
  for (const pattern of patterns) {
    for (const text of texts)
      assert.equal(
        await new LinearPattern(pattern).test(text),
        new RegExp(pattern, 'u').test(text),
        `${pattern} in ${JSON.stringify(text)}`,
      )
  }
  assert.ok(await new LinearPattern('ÄB', { ignoreCase: true }).test('xäb'))
})

const longText = 'a'.repeat(200_000)

test('a pattern that takes a platform for ever takes as long as its text', async () => {
  assert.equal(await new LinearPattern('^(a+)+$').test(`${longText}!`), false)
})

test('a large pattern on a long text is given up, and other work goes on meanwhile', async () => {
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  await assert.rejects(new LinearPattern('a{1,900}b').test(longText), /repeats too much for an answer of this length/)
  clearInterval(counting)
  assert.ok(turns > 10, `${turns} turns`)
})

test('what would need more than one pass, or more than a bounded program, is refused with its reason', () => {
  assert.throws(() => new LinearPattern('(a)\\1'), /back-reference/)
  assert.throws(() => new LinearPattern('(?=a)b'), /look-around/)
  assert.throws(() => new LinearPattern('((a{99}){99}){99}'), /repeats too much/)
  assert.throws(() => new LinearPattern('(a'), SyntaxError)
  assert.throws(() => new LinearPattern('a'.repeat(1001)), /1001 characters/)
})
