import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoggedEvent } from '../../runs/run.ts'
import { Segments, Thoughts } from './segments.ts'

const answer = (text: string): LoggedEvent => ({ type: 'text', label: 'answer', text })
const thought = (text: string): LoggedEvent => ({ type: 'text', label: 'reasoning', text })
const retrying: LoggedEvent = { type: 'retrying' }

/** What a reader has seen, a list for each segment. */
function tell(...events: LoggedEvent[]): string[][] {
  const segments = new Segments()
  const told: string[][] = []
  for (const event of events) {
    const piece = segments.take(event)
    if (piece?.startsSegment) told.push([])
    if (piece) told.at(-1)!.push(piece.text)
  }
  return told
}

test('answer text is one segment, whatever stands before it', () => {
  assert.deepEqual(tell(thought('Hm.'), answer('a'), answer(''), answer('b')), [['a', 'b']])
})

test('behind something else another segment begins', () => {
  assert.deepEqual(tell(answer('a'), thought('Hm.'), answer('b'), answer('c')), [['a'], ['b', 'c']])
  assert.deepEqual(tell(answer('so f'), retrying, answer('so '), answer('far')), [['so f'], ['so ', 'far']])
})

test('an answer that is repeated whole is not told again, and may go on', () => {
  assert.deepEqual(tell(answer('a'), answer('b'), thought('Hm.'), answer('ab')), [['a', 'b']])
  assert.deepEqual(tell(answer('so '), retrying, answer('so '), answer('far')), [['so ', 'far']])
  assert.deepEqual(tell(answer('a'), thought('Hm.'), answer('b'), thought('Hm.'), answer('a')), [['a'], ['b'], ['a']])
})

test('thoughts of different steps are parted by a blank line, pieces of one thought are not', () => {
  const thoughts = new Thoughts()
  const plan: LoggedEvent = { type: 'text', label: 'planning', text: 'First a chart.' }
  const events = [plan, thought('It '), answer(''), thought('fits.'), retrying, thought('Then '), answer('a'), thought('again.')]
  assert.equal(events.map((event) => thoughts.take(event)).join(''), 'First a chart.\n\nIt fits.\n\nThen \n\nagain.')
})
