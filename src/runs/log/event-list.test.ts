import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { LoggedEvent } from '../run.ts'
import { EventList } from './compact-log.ts'

/** An event with this number: most are texts of two labels, of which some are empty. */
function eventOf(number: number): LoggedEvent {
  if (number % 29 === 0) return { type: 'retrying' }
  return { type: 'text', label: number % 40 < 12 ? 'reasoning' : 'answer', text: number % 7 === 0 ? '' : `${number} `.repeat(number % 5) }
}

/** An array and a list with the same events. */
function filled(count: number): { expected: LoggedEvent[]; list: EventList } {
  const expected = Array.from({ length: count }, (_, index) => eventOf(index + 1))
  const list = new EventList()
  for (const event of expected) list.push(event)
  return { expected, list }
}

const sizeOf = (events: readonly LoggedEvent[]) =>
  events.reduce((sum, event) => sum + (event.type === 'text' ? event.text.length : 1000), 0)

test('every part of a list has the events that were added', () => {
  const { expected, list } = filled(150)
  assert.equal(list.length, 150)
  assert.deepEqual([...list], expected)
  for (let from = 0; from <= 151; from++) {
    assert.deepEqual(list.at(from), expected[from])
    assert.deepEqual(list.slice(from), expected.slice(from))
    for (const to of [0, 1, 15, 16, 17, 64, 127, 128, 149, 150, 200]) assert.deepEqual(list.slice(from, to), expected.slice(from, to))
  }
})

test('the last event of a list is at -1', () => {
  const list = new EventList()
  assert.equal(list.at(-1), undefined)
  for (let number = 1; number <= 100; number++) {
    list.push(eventOf(number))
    assert.deepEqual(list.at(-1), eventOf(number))
  }
})

test('the characters of each beginning of a list are counted', () => {
  const { expected, list } = filled(100)
  for (let count = 0; count <= 100; count++) assert.equal(list.charactersTo(count), sizeOf(expected.slice(0, count)))
  assert.equal(list.charactersTo(Infinity), sizeOf(expected))
})

test('a list that was cut at any length goes on from there', () => {
  for (let length = 0; length <= 90; length++) {
    const { expected, list } = filled(80)
    list.truncate(length)
    const further = Array.from({ length: 40 }, (_, index) => eventOf(1000 + index))
    const events = [...expected.slice(0, length), ...further]
    assert.deepEqual(list.at(-1), expected.slice(0, length).at(-1))
    for (const event of further) list.push(event)
    assert.deepEqual(list.slice(), events)
    for (const count of [0, length, length + 1, 119]) assert.equal(list.charactersTo(count), sizeOf(events.slice(0, count)))
  }
})

test('an event that is no text stays the same object', () => {
  const step: LoggedEvent = { type: 'step_start', step: { id: 'c1', type: 'tool_call', tool: 'add', input: {}, startedAt: 1 } }
  const list = new EventList()
  list.push(step)
  for (let number = 1; number <= 60; number++) list.push(eventOf(number))
  assert.equal(list.at(0), step)
})
