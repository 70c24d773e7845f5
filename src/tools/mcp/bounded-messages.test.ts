import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fetch } from 'undici'
import { collectGarbage } from '../../../test/fixtures/garbage.ts'
import { boundResponse, createPace, readLines } from './bounded-messages.ts'

const free = { spend: () => 0 }

async function* chunksOf(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

test('lines are read across any chunk borders, and an unfinished last line is dropped', async () => {
  const bytes = Buffer.from('{"a":"ü"}\r\n\nlong line\nrest')
  for (const size of [1, 2, 3, 7, 100]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
    const lines = await all(readLines(ReadableStream.from(chunks) as AsyncIterable<Buffer>, { maxBytes: 100, pace: free }))
    assert.deepEqual(lines, ['{"a":"ü"}', '', 'long line'])
  }
})

test('a line that is too long rejects, even without a line end', async () => {
  const limits = { maxBytes: 1024 * 1024, pace: free }
  const piece = 'x'.repeat(400_000)
  await assert.rejects(all(readLines(chunksOf(piece, piece, piece), limits)), /more than 1 MB/)
  await assert.rejects(all(readLines(chunksOf(`${piece}${piece}${piece}\n`), limits)), /more than 1 MB/)
  assert.equal((await all(readLines(chunksOf(`${piece}\n${piece}\n${piece}\n`), limits))).length, 3)
})

test('a flood is throttled to the allowed rate', () => {
  let now = 0
  const pace = createPace(() => now)
  let pieces = 0
  for (; now < 10_000; pieces++) now += pace.spend(100)
  assert.ok(pieces > 9000 && pieces < 11_500, `${pieces}`)
  const item = createPace(() => now)
  assert.equal(item.spend(32 * 1024 * 1024), 0)
  assert.ok(item.spend(48 * 1024 * 1024) > 500)
})

function respond(type: string, ...chunks: string[]): Response {
  return new Response(ReadableStream.from(chunks.map((text) => Buffer.from(text))), { headers: { 'content-type': type } })
}

test('a plain response is limited as a whole, an event stream per event', async () => {
  const reasons: string[] = []
  const bound = (response: Response) => boundResponse(response, 1024 * 1024, (why) => reasons.push(why)).text()
  const event = `data: ${'x'.repeat(300_000)}\n\n`
  assert.equal(await bound(respond('application/json', '{"a":', '1}')), '{"a":1}')
  assert.equal((await bound(respond('text/event-stream; charset=utf-8', event, event, event, event))).length, 4 * event.length)
  assert.deepEqual(reasons, [])
  await assert.rejects(bound(respond('application/json', event, event, event, event)))
  await assert.rejects(bound(respond('text/event-stream', ...Array(10).fill(`data: ${'x'.repeat(300_000)}\r\n`))))
  await assert.rejects(bound(respond('text/event-stream', ...Array(10).fill('x'.repeat(300_000)))))
  assert.deepEqual(reasons, Array(3).fill('The server sent a message of more than 1 MB.'))
})

test('events end at an empty line, for every kind of line end and across chunk borders', async () => {
  const wire = 'id: 1\r\ndata: a\r\n\r\n: note\n\ndata: b\n\n'
  for (const size of [1, 2, 3, 5, 100]) {
    const chunks = Array.from({ length: Math.ceil(wire.length / size) }, (_, index) => wire.slice(index * size, (index + 1) * size))
    // Two events of at most 19 bytes: the limit is per event, not for the whole stream.
    assert.equal(await boundResponse(respond('text/event-stream', ...chunks), 20, () => {}).text(), wire)
  }
  const single = wire.replaceAll('\r\n', '\n').replaceAll('\n', '\r')
  for (const cut of [1, 7, 13, single.length])
    assert.equal(await boundResponse(respond('text/event-stream', single.slice(0, cut), single.slice(cut)), 20, () => {}).text(), single)
})

test('a flood of events is throttled, even with CR as line end', async () => {
  for (const end of ['\n', '\r', '\r\n']) {
    const flood = boundResponse(respond('text/event-stream', `data: a${end}${end}`.repeat(50_000)), 2 ** 20, () => {})
    let pieces = 0
    const endsAt = performance.now() + 300
    for await (const piece of flood.body!) {
      pieces += piece.length
      if (performance.now() > endsAt) break
    }
    assert.ok(pieces < 50_000, `${pieces} bytes`)
  }
})

test('a response without a body is passed on without a body', async () => {
  const response = boundResponse(new Response(null, { status: 204 }), 10, () => {})
  assert.deepEqual({ status: response.status, text: await response.text() }, { status: 204, text: '' })
})

test('a response whose body is read late is whole', async (t) => {
  const server = createServer((_request, response) => void response.end('the reason'))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const response = boundResponse(await fetch(`http://127.0.0.1:${port}/`), 1024, () => {})
  await collectGarbage()
  assert.equal(await response.text(), 'the reason')
})
