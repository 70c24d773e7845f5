import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differencesOf } from './difference.ts'
import { compareLines } from './text-lines.ts'

const lines = (before: string, after: string) =>
  differencesOf(before, after)?.map(({ path, before, after }) => `${path}: ${before ?? '-'} > ${after ?? '-'}`)

test('differences name the path and both values', () => {
  assert.deepEqual(lines('a: 1\nb: { c: x }\nd: [1]\n', 'b: { c: y, "e f": true }\nd: [1, 2]\n'), [
    'b.c: x > y',
    'b["e f"]: - > true',
    'd: [ 1 ] > [ 1, 2 ]',
    'a: 1 > -',
  ])
})

test('list elements with names are compared by name', () => {
  const before = 'tools: [{ name: a, timeout: 1 }, { name: b }]'
  assert.deepEqual(lines(before, 'tools: [{ name: c }, { name: a, timeout: 2 }]'), [
    'tools[c]: - > { name: c }',
    'tools[a].timeout: 1 > 2',
    'tools[b]: { name: b } > -',
  ])
  assert.deepEqual(lines(before, 'tools: [{ name: b }, { name: a, timeout: 1 }]'), ['tools: [ a, b ] > [ b, a ]'])
  assert.deepEqual(lines('l: [{ name: a }, { name: a }]', 'l: [{ name: a }]'), ['l: [ { name: a }, { name: a } ] > [ { name: a } ]'])
})

test('comments and formatting are no difference, and a text that is not YAML has none to show', () => {
  assert.deepEqual(lines('a: 1 # one', 'a:   1'), [])
  assert.equal(lines('a: 1', 'a: ['), undefined)
})

test('long texts are compared by lines', () => {
  const text = (middle: string) => `1\n2\n3\n${middle}\n5\n6\n7\n8`
  assert.deepEqual(
    compareLines(text('four'), text('4\n4b')).map(({ kind, text }) => `${kind} ${text}`),
    ['skipped 1 equal line', 'same 2', 'same 3', 'removed four', 'added 4', 'added 4b', 'same 5', 'same 6', 'skipped 2 equal lines'],
  )
})
