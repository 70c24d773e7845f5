import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService, type TestService } from '../fixtures/service.ts'

/** Larger than the buffers of both sockets and of the run together, smaller than the longest answer of a model. */
const piece = 'x'.repeat(64 * 1024)
const pieces = 240
const long = { text: Array.from({ length: pieces }, () => piece) }

/** The long answer to `long`, a short one to anything else. */
const script = ({ body }: { body: any }) => (body.messages.at(-1).content === 'long' ? long : { text: 'short' })

/** A client that requests a stream and reads nothing until told to. */
async function openUnread({ url, key }: TestService, body: object): Promise<IncomingMessage> {
  const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json', 'request-id': 'slow' }
  const request = httpRequest(`${url}/core/v1/chain_streaming`, { method: 'POST', headers, agent: false })
  request.on('error', () => undefined)
  request.end(JSON.stringify({ messages: [{ role: 'user', content: 'long' }], ...body }))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.pause()
  return response
}

async function readAll(response: IncomingMessage): Promise<string> {
  const read: Buffer[] = []
  for await (const part of response) read.push(part as Buffer)
  return Buffer.concat(read).toString()
}

function answerIn(stream: string): number {
  return stream
    .split('\n\n')
    .filter((event) => event.includes('"agent_step":"answer"'))
    .reduce((sum, event) => sum + JSON.parse(event.slice(event.indexOf('data: ') + 6)).token.length, 0)
}

test('Streaming: a run waits for its only reader, which loses nothing; other runs are not delayed', async (t) => {
  const service = await startService(t, { script })
  const { client } = service
  const slow = await openUnread(service, {})
  assert.equal((await client.chat('short')).body.body.output, 'short')
  // The wait is long enough for the run to finish if it did not wait.
  await sleep(500)
  assert.equal((await client.run('slow')).body.status, 'running')
  assert.equal(answerIn(await readAll(slow)), pieces * piece.length)
  assert.equal((await client.run('slow')).body.status, 'success')
})

test('Streaming: the fastest reader sets the pace, and a slower reader still gets everything', async (t) => {
  const service = await startService(t, { script })
  const slow = await openUnread(service, {})
  const events = await (await service.client.follow('slow')).rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'stop')
  assert.equal((await service.client.run('slow')).body.status, 'success')
  assert.equal(answerIn(await readAll(slow)), pieces * piece.length)
})

test('Streaming: a reader that disconnects with a full socket delays no other reader', async (t) => {
  const service = await startService(t, { script })
  const slow = await openUnread(service, { on_disconnect: 'continue' })
  slow.destroy()
  const until = Date.now() + 5000
  while ((await service.client.run('slow')).body.status === 'running' && Date.now() < until) await sleep(20)
  assert.equal((await service.client.run('slow')).body.status, 'success')
})
