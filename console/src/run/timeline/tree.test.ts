import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toRows, toTree } from './tree.ts'

const span = (id: string, parent: string | null, second: number) => ({
  id,
  parent_id: parent,
  started_at: new Date(second * 1000).toISOString(),
})
const spans = [span('run', null, 0), span('b', 'run', 5), span('a', 'run', 1), span('a1', 'a', 2)]
const linesOf = (closed: string[] = []) => toRows(toTree(spans), new Set(closed)).map(({ span: { id }, depth }) => `${depth} ${id}`)

test('spans stand below their parents, in the order of their start', () => {
  assert.deepEqual(linesOf(), ['0 run', '1 a', '2 a1', '1 b'])
})

test('what is below a closed span is left out', () => {
  assert.deepEqual(linesOf(['a']), ['0 run', '1 a', '1 b'])
})

test('a span without its parent, or that is its own parent, is not lost', () => {
  const lost = [span('x', 'missing', 1), span('y', 'y', 2)]
  assert.deepEqual(
    toRows(toTree(lost), new Set()).map(({ span: { id } }) => id),
    ['x', 'y'],
  )
})

test('10,000 spans, one below the other, do not exhaust the stack', () => {
  const chain = Array.from({ length: 10_000 }, (_, index) => span(`s${index}`, index === 0 ? null : `s${index - 1}`, index))
  const rows = toRows(toTree(chain), new Set())
  assert.equal(rows.at(-1)?.depth, 9_999)
})
