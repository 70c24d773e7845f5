import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { CommandFailure } from '../terminal.ts'
import { createServiceClient, type Chunk, type ServiceClient } from './service-client.ts'

type Reply = (request: IncomingMessage, response: ServerResponse) => void

interface Scripted {
  client: ServiceClient
  /** Method, path and `last-event-id` of each request. */
  requests: string[]
}

/** A service that gives these replies, one after another; it objects to a request that was not scripted. */
async function serve(t: TestContext, ...replies: Reply[]): Promise<Scripted> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    requests.push([method, url, headers['last-event-id']].filter(Boolean).join(' '))
    const reply = replies[requests.length - 1]
    if (reply) reply(request, response)
    else response.writeHead(400).end('{"body": "not scripted"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { client: createServiceClient({ url, key: 'k', retries: 2, retryDelayMs: 1 }), requests }
}

function event(number: number, token: string, finish = 'null'): string {
  const chunk = { id: 'r1', token, agent_step: 'answer', finish_reason: finish, usage: [] }
  return `id: r1:${number}\ndata: ${JSON.stringify(chunk)}\n\n`
}

/** Sends the events, then ends, or breaks the connection. */
function events(texts: string[], { breaks = false } = {}): Reply {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(texts.join(''), () => (breaks ? response.destroy() : response.end()))
  }
}

const question = { requestId: 'r1', sessionId: 's1', text: 'Hello?' }

async function ask(client: ServiceClient, signal = new AbortController().signal): Promise<string[]> {
  const chunks: Chunk[] = []
  for await (const chunk of client.ask(question, signal)) chunks.push(chunk)
  return chunks.map(({ token, finish_reason }) => `${token}|${finish_reason}`)
}

test('a question is sent with its ids and the key, and all chunks arrive', async (t) => {
  const { client, requests } = await serve(t, (request, response) => {
    const { 'request-id': requestId, 'session-id': sessionId, 'x-service-access': key } = request.headers
    events([event(1, [requestId, sessionId, key].join(' ')), event(2, '', 'stop'), event(3, 'never')])(request, response)
  })
  assert.deepEqual(await ask(client), ['r1 s1 k|null', '|stop'])
  assert.deepEqual(requests, ['POST /core/v1/chain_streaming'])
})

test('a failed reconnection is an error after the last attempt', async (t) => {
  const breaks: Reply = (_, response) => response.destroy()
  const { client, requests } = await serve(t, events([event(1, 'a')], { breaks: true }), breaks, breaks, breaks)
  await assert.rejects(ask(client), (error) => error instanceof CommandFailure && /reconnecting failed/.test(error.message))
  assert.equal(requests.length, 3)
})

test('a refusal has the message of the service, and is not retried', async (t) => {
  const refuse =
    (status: number, body: object): Reply =>
    (_, response) =>
      void response.writeHead(status).end(JSON.stringify(body))
  const { client, requests } = await serve(
    t,
    refuse(401, { body: 'JWT verification failed: the key has expired.' }),
    refuse(422, {
      detail: [
        { loc: ['body'], msg: 'too short' },
        { loc: ['body'], msg: 'too odd' },
      ],
    }),
    (_, response) => void response.writeHead(404).end('<html>'),
  )
  const failure = () => ask(client).catch((error: unknown) => (error as CommandFailure).lines)
  assert.deepEqual(await failure(), ['JWT verification failed: the key has expired. Pass a valid key with --key.'])
  assert.deepEqual(await failure(), ['too short; too odd'])
  assert.deepEqual(await failure(), ['The service answered with status 404.'])
  assert.equal(requests.length, 3)
})

test('an unreachable service is reported at once', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const client = createServiceClient({ url: `http://127.0.0.1:${port}`, key: 'k' })
  const words = { message: `http://127.0.0.1:${port} cannot be reached (ECONNREFUSED).` }
  await assert.rejects(ask(client), words)
  await assert.rejects(client.tools(), words)
  await client.cancel('r1')
})
