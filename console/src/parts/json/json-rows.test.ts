import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberStep, toJsonRows } from './json-rows.ts'

const open = (...paths: string[]) => new Set(paths)
const none = new Map<string, number>()

test('closed values are one line with their size', () => {
  const rows = toJsonRows({ a: [1, 2], b: {} }, open('$'), none)
  assert.deepEqual(
    rows.map(({ path, depth, size }) => [path, depth, size]),
    [
      ['$', 0, 2],
      ['$.a', 1, 2],
      ['$.b', 1, 0],
    ],
  )
})

test('members beyond the first hundred are shown on demand', () => {
  const list = Array.from({ length: 250 }, (_, index) => index)
  assert.equal(toJsonRows(list, open('$'), none).at(-1)!.more, 150)
  assert.equal(toJsonRows(list, open('$'), new Map([['$', 300]])).length, 251)
})

test('of a list of a million elements only the first step is made into rows', () => {
  const rows = toJsonRows({ list: Array.from({ length: 1e6 }).fill(0) }, open('$', '$.list'), none)
  assert.ok(rows.length <= memberStep + 5)
})
