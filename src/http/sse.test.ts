import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import type { FastifyReply } from 'fastify'
import { sendEvents, startInTime } from './sse.ts'

/** As much of a response as is asked for: its buffer is full with ten bytes. */
function fakeResponse(): ServerResponse & PassThrough {
  return new PassThrough({ highWaterMark: 10 }) as unknown as ServerResponse & PassThrough
}

/** A source that gives what the test pushes, and says how often it was asked. */
function source() {
  const waiting: PromiseWithResolvers<IteratorResult<string>>[] = []
  let asked = 0
  const texts: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        asked++
        const one = Promise.withResolvers<IteratorResult<string>>()
        waiting.push(one)
        return one.promise
      },
      return: async () => ({ done: true, value: undefined }),
    }),
  }
  return {
    texts,
    asked: () => asked,
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

test('texts are written as they come, and the response ends behind them', async () => {
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  from.push('a')
  await settled()
  assert.equal(String(response.read()), 'a')
  from.push('b')
  await settled()
  from.end()
  await sending
  assert.equal(String(response.read()), 'b')
  assert.equal(response.writableEnded, true)
})

test('a comment every 15 s of silence keeps the connection alive, until the end', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  for (let times = 0; times < 2; times++) {
    pass(14_999)
    assert.equal(response.read(), null)
    pass(1)
    assert.equal(String(response.read()), ': keep-alive\n\n')
  }
  from.end()
  await sending
  // A write now would be one behind the end.
  pass(60_000)
  assert.equal(response.errored, null)
})

test('no more is asked for while the reader takes nothing, and no comment is piled up', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  from.push('x'.repeat(20))
  await settled()
  pass(45_000)
  assert.equal(from.asked(), 1)
  assert.equal(String(response.read()), 'x'.repeat(20))
  await settled()
  assert.equal(from.asked(), 2)
  from.end()
  await sending
})

test('a reader that takes nothing for 60 s is cut off', async (t) => {
  const pass = withoutWaiting(t)
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  from.push('x'.repeat(20))
  await settled()
  pass(59_999)
  await settled()
  assert.equal(response.destroyed, false)
  pass(1)
  await sending
  assert.equal(response.destroyed, true)
})

test('a reader that leaves while its socket is full is not waited for', async () => {
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  from.push('x'.repeat(20))
  await settled()
  response.destroy()
  await sending
  assert.equal(from.asked(), 1)
})

test('a source that fails ends the connection, so that no reader takes it for a whole stream', async () => {
  const response = fakeResponse()
  const from = source()
  const sending = sendEvents(response, from.texts)
  from.fail()
  await sending
  assert.deepEqual([response.destroyed, response.writableEnded], [true, false])
})

/** A reply of a request that has just come. */
function fakeReply() {
  const heads: object[] = []
  const headers: Record<string, string> = {}
  const raw = { writeHead: (_status: number, head: object) => heads.push(head), write: () => true }
  const reply = { server: { streamKeepAliveMs: 100 }, elapsedTime: 0, hijack: () => undefined, getHeaders: () => headers, raw }
  return { reply: reply as unknown as FastifyReply, headers, heads }
}

test('a silent stream begins when its headers are settled, and not before', async (t) => {
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

test('a stream that is refused while its headers are not settled never begins', async (t) => {
  const pass = withoutWaiting(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const { reply, heads } = fakeReply()
  const start = startInTime(reply, promise)
  pass(100)
  start.stop()
  resolve()
  await settled()
  assert.deepEqual([start.hasBegun, heads], [false, []])
})
