import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../../test/fixtures/work-meter.ts'
import { matchesAny } from '../plain-text.ts'

test('a name matches itself and every pattern whose parts occur in order', () => {
  const fits: [string, string][] = [
    ['get_user', 'get_user'],
    ['get_user', '*'],
    ['get_user', 'get_*'],
    ['get_user', '*_user'],
    ['get_user', 'g*_*r'],
    ['aba', 'a*b*a'],
    ['', '*'],
    ['', ''],
  ]
  for (const [name, pattern] of fits) assert.ok(matchesAny(name, ['other', pattern]), `${name} ${pattern}`)
  const misses: [string, string][] = [
    ['get_user', 'get'],
    ['get_user', 'user*'],
    ['get_user', 'Get_*'],
    ['ab', 'ab*b'],
    ['aba', 'ab*ba'],
    ['a', 'a*a'],
    ['a.b', 'a?b'],
    ['acb', 'a.b'],
  ]
  for (const [name, pattern] of misses) assert.equal(matchesAny(name, [pattern]), false, `${name} ${pattern}`)
  assert.equal(matchesAny('a', []), false)
})

test('matching a hostile pattern takes little time', () => {
  const work = workSince()
  assert.equal(matchesAny('a'.repeat(10_000), [`${'*a'.repeat(1000)}*b`]), false)
  assert.ok(work() < 500)
})
