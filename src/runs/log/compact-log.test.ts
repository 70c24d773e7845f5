import { test } from 'node:test'
import assert from 'node:assert/strict'
import { fromCompact, toCompact } from './compact-log.ts'
import type { LoggedEvent } from '../run.ts'

const text = (label: 'answer' | 'reasoning', piece: string): LoggedEvent => ({ type: 'text', label, text: piece })
const start: LoggedEvent = { type: 'step_start', step: { id: 'c1', type: 'tool_call', tool: 'add', input: {}, startedAt: 1 } }
const end: LoggedEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }

const log = [
  text('reasoning', 'Hm'),
  text('answer', 'a'),
  text('answer', ''),
  text('answer', 'b\ud83d'),
  text('answer', '\ude00'),
  start,
  text('answer', 'c'),
  { type: 'retrying' } as const,
  text('answer', 'd'),
  end,
]

test('consecutive texts with the same label are merged, with the lengths of the pieces', () => {
  assert.deepEqual(toCompact(log), [
    { type: 'texts', label: 'reasoning', text: 'Hm', lengths: [2] },
    { type: 'texts', label: 'answer', text: 'ab😀', lengths: [1, 0, 2, 1] },
    start,
    { type: 'texts', label: 'answer', text: 'c', lengths: [1] },
    { type: 'retrying' },
    { type: 'texts', label: 'answer', text: 'd', lengths: [1] },
    end,
  ])
})

test('a log stored as JSON is read back with the same events and numbers', () => {
  assert.deepEqual(fromCompact(JSON.parse(JSON.stringify(toCompact(log)))), log)
})

test('the input events are not changed', () => {
  const before = structuredClone(log)
  toCompact(log)
  assert.deepEqual(log, before)
})
