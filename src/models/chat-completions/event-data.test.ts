import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import { EventData } from './event-data.ts'

const maxSize = 1000

function parse(pieces: readonly string[]): { data: string[]; isWithin: boolean } {
  const data: string[] = []
  const reader = new EventData({ accept: (event) => void data.push(event) }, maxSize)
  const isWithin = pieces.every((piece) => reader.feed(piece))
  return { data, isWithin }
}

test('the pieces of a stream may end anywhere', () => {
  const text =
    '\ufeff: hi\r\nid: 1\r\ndata: {"token":"grün"}\r\n\r\ndata: x\rdata:y\r\revent: e\ndata\n\ndatas: z\n\ndata:  two\n\ndata: lost'
  const expected = ['{"token":"grün"}', 'x\ny', '', ' two']
  assert.deepEqual(parse([text]).data, expected)
  assert.deepEqual(parse(text.split('')).data, expected)
  for (let first = 0; first <= text.length; first++)
    assert.deepEqual(parse([text.slice(0, first), '', text.slice(first)]).data, expected, String(first))
})

test('random streams are read as eventsource-parser reads them', () => {
  const tokens = [
    'data:',
    'data: ',
    'data',
    'id: 1',
    'event: e',
    ': c',
    'x',
    '🌍',
    ' ',
    ':',
    '\n',
    '\n',
    '\n\n',
    '\r',
    '\r\n',
    '\r\n\r\n',
    '\ufeff',
  ]
  let seed = 1
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below
  for (let round = 0; round < 3000; round++) {
    const pieces = Array.from({ length: 1 + random(20) }, () => tokens[random(tokens.length)]!)
    const expected: string[] = []
    const reference = createParser({ onEvent: ({ data }) => void expected.push(data) })
    for (const piece of pieces) reference.feed(piece)
    // A return at the end of the text may be half of a line end: the reference waits for the rest.
    if (pieces.at(-1) === '\r') continue
    assert.deepEqual(parse(pieces).data, expected, JSON.stringify(pieces))
  }
})

test('an event above the limit is refused, in one line, in many lines and without an end', () => {
  const piece = 'x'.repeat(100)
  assert.equal(parse(Array.from({ length: 9 }, () => piece)).isWithin, true)
  assert.equal(parse(Array.from({ length: 11 }, () => piece)).isWithin, false)
  assert.equal(parse(Array.from({ length: 11 }, () => `data: ${piece}\n`)).isWithin, false)
  assert.equal(parse(Array.from({ length: 100 }, () => `data: ${piece}\n\n: ${piece}\n\n`)).isWithin, true)
})
