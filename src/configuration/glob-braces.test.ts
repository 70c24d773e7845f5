import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expandBraces, GlobError } from './glob-braces.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

test('alternatives, ranges and nested groups are expanded as in shells', () => {
  assert.deepEqual(expandBraces('a/{b,c}/*.md'), ['a/b/*.md', 'a/c/*.md'])
  assert.deepEqual(expandBraces('{a,b{1..3}}'), ['a', 'b1', 'b2', 'b3'])
  assert.deepEqual(expandBraces('{08..10}'), ['08', '09', '10'])
  assert.deepEqual(expandBraces('{3..1}{,x}'), ['3', '3x', '2', '2x', '1', '1x'])
  assert.deepEqual(expandBraces('{-1..1}'), ['-1', '0', '1'])
  assert.deepEqual(expandBraces('{1..9..4}{c..a}').slice(0, 4), ['1c', '1b', '1a', '5c'])
  assert.deepEqual(expandBraces('{{a,b}}'), ['{a}', '{b}'])
})

test('text without alternatives stays unchanged', () => {
  for (const text of ['', 'a', '{a}', '{}', '${a,b}', '!(a)*', '[ab]', '{1..x}']) assert.deepEqual(expandBraces(text), [text])
})

test('a pattern with too many expansions is refused before the expansion', () => {
  const work = workSince()
  const bombs = [
    ...[
      '{a,b}'.repeat(24),
      '{1..99999}',
      '{1..99999999999999999999999}',
      '{a..z}{a..z}',
      `${'{a,'.repeat(200)}${'}'.repeat(200)}`.repeat(3),
    ],
    ...['{1..400}{,a}', 'x'.repeat(1001), '**/a/'.repeat(9), '*a'.repeat(21), '['.repeat(999)],
  ]
  for (const bomb of bombs) assert.throws(() => expandBraces(bomb), GlobError, bomb.slice(0, 20))
  assert.equal(expandBraces('{1..500}').length, 500)
  assert.ok(work() < 1000)
})

test('patterns that match too slowly, or that Node refuses, are refused', () => {
  for (const text of ['{a', 'a}', '+(a|aa)b', '*(a*)', '@(*|b)*', '!(a)!(b)', '**!(a)*', '[[:alpha:]]x*[^a]-', 'a\0']) {
    assert.throws(() => expandBraces(text), GlobError, text)
  }
})
