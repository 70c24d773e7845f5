import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Span } from '../queries.ts'
import { taintLines, taintedSpans } from './taint.ts'

const span = (id: string, parent: string | null, attributes: Span['attributes'] = {}): Span => ({
  id,
  parent_id: parent,
  kind: 'tool',
  name: id,
  status: 'success',
  started_at: '2026-11-28T08:00:00.000Z',
  ended_at: null,
  attributes,
})
const spans = [
  span('run', null),
  span('turn', 'run'),
  span('page', 'turn', { trust: 'untrusted' }),
  span('approval:refund', 'run', { tool_call_id: 'refund', tainted_by: ['page'] }),
  span('refund', 'run', { tainted_by: ['page', 'of an earlier run'] }),
]
const linesOf = (rows: string[]) =>
  taintLines(
    taintedSpans(spans),
    rows.map((id) => ({ span: spans.find((span) => span.id === id)! })),
    spans,
  ).map(({ source, sink, sourceRow, sinkRow }) => `${source.id} ${sourceRow} -> ${sink.id} ${sinkRow}`)

test('a sink has its sources, counts those of earlier runs, and stands for its approval', () => {
  const tainted = taintedSpans(spans)
  assert.deepEqual([...tainted.keys()], ['refund'])
  assert.deepEqual([tainted.get('refund')?.sources.map(({ id }) => id), tainted.get('refund')?.elsewhere], [['page'], 1])
})

test('an approval has the sources while its call waits', () => {
  assert.deepEqual([...taintedSpans(spans.slice(0, 4)).keys()], ['approval:refund'])
})

test('a line leads from the row of the source to the row of the sink, and from the closed row above a hidden source', () => {
  assert.deepEqual(linesOf(['run', 'turn', 'page', 'approval:refund', 'refund']), ['page 2 -> refund 4'])
  assert.deepEqual(linesOf(['run', 'turn', 'approval:refund', 'refund']), ['page 1 -> refund 3'])
  assert.deepEqual(linesOf(['run']), [], 'both are below the same row')
})
