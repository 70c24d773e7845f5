import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import { EventParser, type ServerSentEvent } from '../src/stream/event-parser.ts'

const encoder = new TextEncoder()

function parse(...pieces: (string | Uint8Array)[]): ServerSentEvent[] {
  const parser = new EventParser()
  return pieces.flatMap((piece) => parser.push(typeof piece === 'string' ? encoder.encode(piece) : piece))
}

const event = (data: string, { id = '', type = 'message' } = {}): ServerSentEvent => ({ id, type, data })

test('an event ends with a blank line, whatever the line breaks are', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const text = ['id: 1', 'data: a', '', 'data: b', ''].join(end) + end
    assert.deepEqual(parse(text), [event('a', { id: '1' }), event('b', { id: '1' })], JSON.stringify(end))
  }
  assert.deepEqual(parse('data: a\r\r\ndata: b\n\r\n'), [event('a'), event('b')])
})

test('lines of data are joined; one space behind the colon is removed; unknown fields and comments are ignored', () => {
  assert.deepEqual(parse('data:  a\ndata:b\ndata\n: comment\nother: x\nretry: 10\n\n'), [event(' a\nb\n')])
  assert.deepEqual(parse('data: a:b\nevent: ping\n\ndata: c\n\n'), [event('a:b', { type: 'ping' }), event('c')])
  assert.deepEqual(parse('data\n\n'), [event('')])
})

test('an event without data is none, but its id counts; an id with NUL is ignored', () => {
  assert.deepEqual(parse('id: 7\n\nevent: x\n\ndata: a\n\n'), [event('a', { id: '7' })])
  assert.deepEqual(parse('id: 1\nid: a\0b\ndata: a\n\nid\ndata: b\n\n'), [event('a', { id: '1' }), event('b')])
})

test('a byte order mark at the start is removed, later ones are text', () => {
  assert.deepEqual(parse('\uFEFFdata: a\uFEFF\n\n'), [event('a\uFEFF')])
  assert.deepEqual(parse(new Uint8Array([0xef]), new Uint8Array([0xbb, 0xbf]), 'data: a\n\n'), [event('a')])
})

test('an event that the stream does not complete is not dispatched', () => {
  assert.deepEqual(parse('data: a\n\ndata: b\n'), [event('a')])
  assert.deepEqual(parse('data: a'), [])
})

test('the pieces of a stream may end anywhere, inside of a character too', () => {
  const text = '\uFEFF: hi\r\nid: r:1\r\ndata: {"token":"grün 🌍"}\r\n\r\ndata: x\rdata: y\r\revent: é\ndata: z\n\n'
  const bytes = encoder.encode(text)
  const whole = parse(bytes)
  assert.deepEqual(
    whole.map(({ data }) => data),
    ['{"token":"grün 🌍"}', 'x\ny', 'z'],
  )
  for (let first = 0; first <= bytes.length; first++)
    for (let second = first; second <= bytes.length; second++)
      assert.deepEqual(parse(bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)), whole, `${first} ${second}`)
  assert.deepEqual(parse(...Array.from(bytes, (byte) => new Uint8Array([byte]))), whole)
})

test('random streams are parsed as eventsource-parser parses them', () => {
  const tokens = [
    'data:',
    'data: ',
    'data',
    'id: 1',
    'id:',
    'event: e',
    ': c',
    'x',
    '🌍',
    ' ',
    ':',
    '\n',
    '\n',
    '\n\n',
    '\r\n',
    '\r\n\r\n',
    '\n\n\n',
  ]
  let seed = 1
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below
  for (let round = 0; round < 3000; round++) {
    const pieces = Array.from({ length: 1 + random(20) }, () => tokens[random(tokens.length)]!)
    const expected: string[] = []
    const reference = createParser({ onEvent: ({ data, event }) => expected.push(`${event ?? 'message'} ${data}`) })
    for (const piece of pieces) reference.feed(piece)
    assert.deepEqual(
      parse(...pieces).map(({ type, data }) => `${type} ${data}`),
      expected,
      JSON.stringify(pieces),
    )
  }
})

test('a long line in many pieces takes linear time', () => {
  const piece = encoder.encode('x'.repeat(1024))
  const parser = new EventParser()
  const start = performance.now()
  parser.push(encoder.encode('data: '))
  for (let count = 0; count < 20_000; count++) parser.push(piece)
  const [last] = parser.push(encoder.encode('\n\n'))
  assert.equal(last?.data.length, 20_000 * 1024)
  assert.ok(performance.now() - start < 5000)
})

test('an event that never ends is refused, and comments of days are not', () => {
  const piece = encoder.encode('x'.repeat(1_000_000))
  const comment = encoder.encode(`: ${'x'.repeat(1_000_000)}\n\n`)
  for (const start of ['data: ', 'x']) {
    const parser = new EventParser()
    parser.push(encoder.encode(start))
    assert.throws(() => {
      for (let count = 0; count < 70; count++) parser.push(piece)
    }, /64000000 characters/)
  }
  const waiting = new EventParser()
  for (let count = 0; count < 70; count++) waiting.push(comment)
  assert.equal(waiting.push(encoder.encode('data: a\n\n'))[0]?.data, 'a')
})
