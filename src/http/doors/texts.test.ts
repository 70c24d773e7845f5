import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoggedEvent } from '../../runs/run.ts'
import { Segments, Thoughts } from './texts.ts'

const answer = (text: string): LoggedEvent => ({ type: 'text', label: 'answer', text })
const thought = (text: string): LoggedEvent => ({ type: 'text', label: 'reasoning', text })
const retrying: LoggedEvent = { type: 'retrying' }

/** The texts that a client has received, a list for each segment. */
function received(...events: LoggedEvent[]): string[][] {
  const segments = new Segments({ isHeld: false })
  const texts: string[][] = []
  for (const event of events) {
    const piece = segments.take(event)
    if (piece?.startsSegment) texts.push([])
    if (piece) texts.at(-1)!.push(piece.text)
  }
  return texts
}

test('answer text is one segment, whatever precedes it', () => {
  assert.deepEqual(received(thought('Hm.'), answer('a'), answer(''), answer('b')), [['a', 'b']])
})

test('another event starts a new segment', () => {
  assert.deepEqual(received(answer('a'), thought('Hm.'), answer('b'), answer('c')), [['a'], ['b', 'c']])
  assert.deepEqual(received(answer('so f'), retrying, answer('so '), answer('far')), [['so f'], ['so ', 'far']])
})

test('a fully repeated answer is not sent again, and may continue', () => {
  assert.deepEqual(received(answer('a'), answer('b'), thought('Hm.'), answer('ab')), [['a', 'b']])
  assert.deepEqual(received(answer('so '), retrying, answer('so '), answer('far')), [['so ', 'far']])
  assert.deepEqual(received(answer('a'), thought('Hm.'), answer('b'), thought('Hm.'), answer('a')), [['a'], ['b'], ['a']])
})

test('a blank line separates thoughts of different steps, but not parts of one thought', () => {
  const thoughts = new Thoughts()
  const plan: LoggedEvent = { type: 'text', label: 'planning', text: 'First a chart.' }
  const events = [plan, thought('It '), answer(''), thought('fits.'), retrying, thought('Then '), answer('a'), thought('again.')]
  assert.equal(events.map((event) => thoughts.take(event)).join(''), 'First a chart.\n\nIt fits.\n\nThen \n\nagain.')
})
