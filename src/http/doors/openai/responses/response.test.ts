import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { EndEvent } from '../../../../runs/run.ts'
import { endedResponse, type ResponseHead } from './response.ts'

const head = { requestId: 'q', part: 1, created: 1000, fields: {} } as unknown as ResponseHead
const end: EndEvent = { type: 'end', at: 2_500_000, reason: 'stop', usage: [], thoughts: [] }
const { at: _, ...earlier } = end

function completedAt(options: Parameters<typeof endedResponse>[2]): unknown {
  return (endedResponse(head, [], options) as { completed_at: unknown }).completed_at
}

test('each reader gets the stored time of the end, however late it reads', () => {
  assert.equal(completedAt({ end }), 2500)
  assert.equal(completedAt({ end, endedAt: 2_500_000 }), 2500)
})

test('an end event of an earlier version has the time of its run', () => {
  assert.equal(completedAt({ end: earlier, endedAt: 2_400_000 }), 2400)
})
