import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../../errors.ts'
import { toFailedEnd } from '../../../../runs/log/outcome.ts'
import type { LoggedEvent } from '../../../../runs/run.ts'
import { streamResponse } from './events.ts'
import type { ResponseHead } from './response.ts'

const text = (piece: string): LoggedEvent => ({ type: 'text', label: 'answer', text: piece })
const fault = toFailedEnd(new ServiceError('overloaded', 'The service is stopping.'))
const head = (part = 1) => ({ requestId: 'r1', part, created: 1, fields: {} }) as unknown as ResponseHead

/** Renders events, then the fault. Returns the number and the type of each event. */
function render(events: LoggedEvent[], startingAfter: number, part = 1): [number, string][] {
  const { toChunk, toFault, opening = '' } = streamResponse(head(part), { hasSchema: false, startingAfter })
  const sent = opening + events.map((event, index) => toChunk(index + 1, event, false)).join('') + toFault!(fault)
  return [...sent.matchAll(/data: (.*)\n/g)].map(([, data]) => {
    const { sequence_number: number, type } = JSON.parse(data!)
    return [number, type]
  })
}

test('a failure of reading has the sequence number of the last event that the reader has received', () => {
  const all = render([text('a'), text('b')], -1)
  const [last, failed] = all.slice(-2)
  assert.deepEqual(failed, [last![0], 'response.failed'])
  assert.equal(last![1], 'response.output_text.delta')
  const resumed = render([text('a'), text('b'), text('c')], failed[0])
  assert.deepEqual(resumed, [
    [failed[0] + 1, 'response.output_text.delta'],
    [failed[0] + 1, 'response.failed'],
  ])
  assert.deepEqual(render([text('a')], 40), [[40, 'response.failed']])
})

test('a later part whose run cannot be read begins, then fails with the number of its beginning', () => {
  assert.deepEqual(render([], -1, 2), [
    [0, 'response.created'],
    [0, 'response.failed'],
  ])
})

test('a reader of a lost attempt without a checkpoint gets all events after the beginning again, and none of the beginning', () => {
  const first = (startingAfter: number) => {
    const { toChunk } = streamResponse(head(), { hasSchema: false, startingAfter, isReplay: true, restoredAt: 0 })
    return /^event: (\S+)\ndata: .*?"sequence_number":(\d+),/.exec(toChunk(1, text('a'), false))?.slice(1)
  }
  assert.deepEqual(first(0), ['response.in_progress', '1'])
  for (const startingAfter of [1, 2, 40]) assert.deepEqual(first(startingAfter), ['response.output_item.added', '2'])
})
