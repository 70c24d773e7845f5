import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A request as received by the test site. */
export interface ReceivedRequest {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  body: string
}

export interface Site {
  port: number
  origin: string
  requests: ReceivedRequest[]
}

/** A server on loopback that records its requests; closed when the test ends. */
export async function startSite(t: TestContext, answer: (request: ReceivedRequest, response: http.ServerResponse) => void): Promise<Site> {
  const requests: ReceivedRequest[] = []
  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers } = request
    const received = { method, url, headers, body: Buffer.concat(pieces).toString() }
    requests.push(received)
    answer(received, response)
  }
  const server = http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, origin: `http://127.0.0.1:${port}`, requests }
}
