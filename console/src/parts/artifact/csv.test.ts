import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCsv } from './csv.ts'

test('cells may be quoted, and then contain separators, quotes and line breaks', () => {
  assert.deepEqual(parseCsv('a,b\r\n"x, ""y""\nz",2\n', 10), [
    ['a', 'b'],
    ['x, "y"\nz', '2'],
  ])
})

test('the separator is found in the first line', () => {
  assert.deepEqual(parseCsv('a;b\n1,5;2', 10), [
    ['a', 'b'],
    ['1,5', '2'],
  ])
})

test('empty cells, an open quote and a limit', () => {
  assert.deepEqual(parseCsv(',\n,x\n', 10), [
    ['', ''],
    ['', 'x'],
  ])
  assert.deepEqual(parseCsv('a\n"open', 10), [['a'], ['open']])
  assert.equal(parseCsv('a\n'.repeat(1000), 10).length, 10)
})

test('a row of a million cells and a cell of a million characters are cut', () => {
  const [wide, long] = parseCsv(`${','.repeat(1e6)}\n${'x'.repeat(1e6)},y\n`, 10)
  assert.equal(wide!.length, 100)
  assert.deepEqual([long![0]!.length, long![1]], [1001, 'y'])
})
