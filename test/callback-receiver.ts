import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  /** As it came, since that is what is signed. */
  text: string
  /** Any: a test looks deep into it. */
  body: any
}

export interface Receiver {
  url: string
  /** `host:port`, as OUTBOUND_ALLOW takes it. */
  host: string
  received: Received[]
  /** Waits until so many came. */
  reaches(count: number): Promise<Received>
}

/** More than any callback of a test needs to come. */
const limitMs = 60_000

/** A receiver of callbacks: answers with a status, or as the function does. */
export async function startReceiver(
  t: Pick<TestContext, 'after'>,
  answer: number | ((received: Received, index: number, response: ServerResponse) => number | undefined) = 204,
): Promise<Receiver> {
  const received: Received[] = []
  const events = new EventTarget()
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const one = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) }
    received.push(one)
    const status = typeof answer === 'number' ? answer : answer(one, received.length - 1, response)
    if (status !== undefined) response.writeHead(status).end()
    events.dispatchEvent(new Event('received'))
  }
  const server = http.createServer((request, response) => void take(request, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/hook`,
    host,
    received,
    async reaches(count) {
      const signal = AbortSignal.timeout(limitMs)
      while (received.length < count) await once(events, 'received', { signal })
      return received[count - 1]!
    },
  }
}

/** Throws where it was not signed with this secret. */
export function verify(secret: string, { text, headers }: Received): unknown {
  return new Webhook(secret).verify(text, headers as Record<string, string>)
}

/** Where nobody listens. */
export async function closedAddress(): Promise<string> {
  const server = http.createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/hook`
}
