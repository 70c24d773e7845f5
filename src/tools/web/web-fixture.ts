import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A request as it came over the wire. */
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

/** A server on loopback that keeps what it is asked; closed when the test ends. */
export async function startSite(t: TestContext, answer: (asked: ReceivedRequest, response: http.ServerResponse) => void): Promise<Site> {
  const requests: ReceivedRequest[] = []
  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(pieces).toString() }
    requests.push(one)
    answer(one, response)
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
