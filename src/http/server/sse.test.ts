import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import type { FastifyReply } from 'fastify'
import { sendEvents, startInTime } from './sse.ts'

/** The used part of a response, with a buffer of ten bytes. */
function fakeResponse(): ServerResponse & PassThrough {
  return new PassThrough({ highWaterMark: 10 }) as unknown as ServerResponse & PassThrough
}

/** A source of texts that the test pushes; `pulls` counts the calls of `next`. */
function createSource() {
  const waiting: PromiseWithResolvers<IteratorResult<string>>[] = []
  let pulls = 0
  const texts: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        pulls++
        const result = Promise.withResolvers<IteratorResult<string>>()
        waiting.push(result)
        return result.promise
      },
      return: async () => ({ done: true, value: undefined }),
    }),
  }
  return {
    texts,
    pulls: () => pulls,
    push: (value: string) => waiting.shift()?.resolve({ done: false, value }),
    end: () => waiting.shift()?.resolve({ done: true, value: undefined }),
    fail: () => waiting.shift()?.reject(new Error('broken')),
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

function withoutWaiting(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  return (ms) => t.mock.timers.tick(ms)
}

test('texts are written as they come, and then the response ends', async () => {
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  source.push('a')
  await settled()
  assert.equal(String(response.read()), 'a')
  source.push('b')
  await settled()
  source.end()
  await sending
  assert.equal(String(response.read()), 'b')
  assert.equal(response.writableEnded, true)
})

test('a comment every 15 s of silence keeps the connection alive, until the end', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  for (let times = 0; times < 2; times++) {
    pass(14_999)
    assert.equal(response.read(), null)
    pass(1)
    assert.equal(String(response.read()), ': keep-alive\n\n')
  }
  source.end()
  await sending
  // A later write would be a write after the end.
  pass(60_000)
  assert.equal(response.errored, null)
})

test('while the socket is full no further text is pulled and no comment is buffered', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  source.push('x'.repeat(20))
  await settled()
  pass(45_000)
  assert.equal(source.pulls(), 1)
  assert.equal(String(response.read()), 'x'.repeat(20))
  await settled()
  assert.equal(source.pulls(), 2)
  source.end()
  await sending
})

test('a client that reads nothing for 60 s is disconnected', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  source.push('x'.repeat(20))
  await settled()
  pass(59_999)
  await settled()
  assert.equal(response.destroyed, false)
  pass(1)
  await sending
  assert.equal(response.destroyed, true)
})

test('a disconnect with a full socket ends the stream at once', async () => {
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  source.push('x'.repeat(20))
  await settled()
  response.destroy()
  await sending
  assert.equal(source.pulls(), 1)
})

test('a failing source destroys the response, so that the stream does not seem complete', async () => {
  const response = fakeResponse()
  const source = createSource()
  const sending = sendEvents(response, source.texts)
  source.fail()
  await sending
  assert.deepEqual({ destroyed: response.destroyed, writableEnded: response.writableEnded }, { destroyed: true, writableEnded: false })
})

/** A reply to a request that has just arrived. */
function fakeReply() {
  const heads: object[] = []
  const headers: Record<string, string> = {}
  const raw = { writeHead: (_status: number, head: object) => heads.push(head), write: () => true }
  const reply = { request: {}, server: { streamKeepAliveMs: 100 }, elapsedTime: 0, hijack: () => undefined, getHeaders: () => headers, raw }
  return { reply: reply as unknown as FastifyReply, headers, heads }
}

test('a silent stream begins only after its headers are settled', async (t) => {
  const pass = withoutWaiting(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const { reply, headers, heads } = fakeReply()
  startInTime(reply, promise)
  pass(100)
  await settled()
  assert.deepEqual(heads, [])
  headers['session-id'] = 's'
  resolve()
  await settled()
  assert.partialDeepStrictEqual(heads, [{ 'session-id': 's' }])
})

test('a stream that is refused before its headers are settled never begins', async (t) => {
  const pass = withoutWaiting(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const { reply, heads } = fakeReply()
  const start = startInTime(reply, promise)
  pass(100)
  start.stop()
  resolve()
  await settled()
  assert.deepEqual({ hasBegun: start.hasBegun, heads }, { hasBegun: false, heads: [] })
})
