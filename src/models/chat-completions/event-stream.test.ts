import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startModelServer } from '../../../test/fixtures/model-server.ts'
import type { ModelEvent, ModelRequest } from '../../agent/model.ts'
import { createConnections } from '../connections.ts'
import { createChatCompletionsModel } from './chat-completions.ts'
import { toWireBody } from './event-stream.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const mebibyte = 1024 * 1024

async function open(headers: Record<string, string> = {}) {
  const server = await startModelServer({ text: ['Hello', ' again'], silentAfter: 2, headers })
  const connections = createConnections()
  const model = createChatCompletionsModel({
    provider: 'openai',
    model: 'gpt-5-mini',
    seesImages: true,
    url: new URL(`${server.url}/chat/completions`),
    headers: {},
    timeouts: { connectMs: 10_000, firstTokenMs: 30_000, idleMs: 30_000 },
    origin: { label: 'openai gpt-5-mini', secrets: [] },
    connections,
  })
  const stopping = new AbortController()
  return {
    server,
    /** Resolves when the answer has begun. */
    begin(request: ModelRequest) {
      const { promise, resolve, reject } = Promise.withResolvers<ModelEvent>()
      const sink = (event: ModelEvent) => {
        resolve(event)
        return undefined
      }
      model.reply(request, sink, stopping.signal).catch(reject)
      return promise
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await connections.close()
      await server.close()
    },
  }
}

/** Bytes of the buffers that are in use. Tests of other files may have left some in the process. */
function bufferBytes(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

/** Buffers may be let go some turns of the event loop later. */
async function assertGrowthBelow(limit: number, before: number): Promise<void> {
  const growth = () => bufferBytes() - before
  for (let turn = 0; turn < 50 && growth() > limit; turn++) await tick()
  assert.ok(growth() <= limit, `${growth()} bytes`)
}

test('a long prompt arrives complete, with its length', async () => {
  await using answering = await open()
  const text = 'Größe 😀 '.repeat(20_000)
  assert.deepEqual(await answering.begin({ system: '', messages: [{ role: 'user', text }], tools: [] }), { type: 'text', text: 'Hello' })
  const [request] = answering.server.requests
  assert.equal(request?.body.messages[0].content, text)
  assert.equal(Number(request?.headers['content-length']) > 20_000 * 12, true)
  assert.equal(request?.headers['transfer-encoding'], undefined)
})

test('the bytes of a prompt are not kept while its answer is streamed', async () => {
  await using answering = await open()
  const text = 'x'.repeat(mebibyte)
  const prompts = 16
  const before = bufferBytes()
  await Promise.all(Array.from({ length: prompts }, () => answering.begin({ system: '', messages: [{ role: 'user', text }], tools: [] })))
  await assertGrowthBelow((prompts / 4) * mebibyte, before)
})

test('the headers of an answer are not kept while the answer is streamed', async () => {
  const answers = 400
  const headerBytes = 12_000
  await using answering = await open({ 'x-padding': 'x'.repeat(headerBytes) })
  const before = bufferBytes()
  await Promise.all(
    Array.from({ length: answers }, () => answering.begin({ system: '', messages: [{ role: 'user', text: 'Hi' }], tools: [] })),
  )
  await assertGrowthBelow((answers * headerBytes) / 2, before)
})

test('a short prompt is sent as it is', () => {
  assert.deepEqual(toWireBody('{}'), { body: '{}' })
})
