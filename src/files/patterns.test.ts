import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { createPatterns } from './patterns.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

test('a name matches a pattern exactly when it matches in Node', () => {
  const patterns = [
    ...['**', '*', 'a/**', '**/a', 'a/**/b', 'a/*/b', '**/*.md', '**/a/**/b', 'a**b', 'a?', '[ab]*', '[!a]b', '[^a]', '[a-c]x', '[]a]'],
    ...['{a,b}', '{a,b{1..2}}/*', '!(a)', '!(a)*', 'x[[:alpha:]]', '[', 'a[', '${a,b}', '{a}', 'a/b', '*a*b*', 'é*', '**/x.*', 'a/{,b}'],
  ]
  const parts = ['a', 'b', 'ab', 'x', 'x.md', 'a/b', 'b/a', '1', 'b1', 'é', '[', ']', '$', '{a}', 'aXb', 'xa', 'aab']
  const names = new Set(parts.flatMap((first) => [first, ...parts.flatMap((next) => [`${first}/${next}`, `${first}${next}`])]))
  for (const pattern of patterns) {
    const { matches } = createPatterns([pattern])
    for (const name of names) assert.equal(matches(name), path.posix.matchesGlob(name, pattern), `${pattern} ${name}`)
  }
})

test('a final slash means everything in the folder, and hidden files never match', () => {
  const { globs, matches } = createPatterns(['handbook/', 'a/**/**/**/b'])
  assert.deepEqual(globs, ['handbook/**', 'a/**/b'])
  assert.deepEqual(['handbook/x/y.md', 'handbook', 'handbook/.x/y.md', 'a/b', 'a/c/b'].map(matches), [true, false, false, true, true])
})

test('a pattern that leads out of the root is refused in every spelling', () => {
  for (const pattern of ['../x', '/etc/*', 'a/../../b', '{..,a}/x', '{.,}{.,}/x', '..\\..\\x', '{/,a}b']) {
    assert.throws(() => createPatterns([pattern]), /leads out of the files root/, pattern)
  }
})

test('no name from a caller makes matching slow', () => {
  const work = workSince()
  const { matches } = createPatterns(['*a*a*a*a*a*a*b', '**/a/**/a/**/a/**/c', '{1..400}*a*a*b', '*!(a)*c'])
  for (const name of ['a'.repeat(255), 'a'.repeat(1_000_000), 'a/'.repeat(2000), `1${'a'.repeat(250)}`, 'a/'.repeat(500_000)]) {
    assert.equal(matches(name), false)
  }
  assert.ok(work() < 1000)
})
