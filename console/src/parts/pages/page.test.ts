import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeHead, type Page } from './page.ts'

interface Row {
  id: string
  state: string
}
const page = (ids: string, has_more = true, state = 'done'): Page<Row> => ({
  rows: ids.split('').map((id) => ({ id, state })),
  offset: ids.at(-1) ?? '',
  has_more,
})
const merge = (pages: Page<Row>[], head: Page<Row>) => mergeHead(pages, head, ({ id }) => id)
const idsOf = (pages: Page<Row>[]) => pages.map(({ rows }) => rows.map(({ id }) => id).join(''))

test('new rows stand before the loaded ones, which stay loaded', () => {
  const merged = merge([page('fed'), page('cba', false)], page('hgf'))
  assert.deepEqual(idsOf(merged), ['hgfed', 'cba'])
  assert.equal(merged[0]!.offset, 'd')
})

test('a row that has moved to the top is shown once', () => {
  assert.deepEqual(idsOf(merge([page('fed'), page('cba', false)], page('bfe'))), ['bfed', 'ca'])
  assert.deepEqual(idsOf(merge([page('fed'), page('cba', false)], page('afed'))), ['afed', 'cb'])
})

test('a row that is gone disappears', () => {
  assert.deepEqual(idsOf(merge([page('fed'), page('cba')], page('fdc'))), ['fdc', 'ba'])
})

test('a first page without a common row replaces the list', () => {
  assert.deepEqual(idsOf(merge([page('cba', false)], page('zyx'))), ['zyx'])
})

test('a first page that is the whole list replaces the list', () => {
  assert.deepEqual(merge([page('cba')], page('a', false)), [page('a', false)])
})

test('an unchanged row keeps its identity, a changed one does not', () => {
  const before = page('cb')
  const [merged] = merge([before], {
    ...page('cb'),
    rows: [
      { id: 'c', state: 'running' },
      { id: 'b', state: 'done' },
    ],
  })
  assert.equal(merged!.rows[1], before.rows[1])
  assert.equal(merged!.rows[0]!.state, 'running')
})
