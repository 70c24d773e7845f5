import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export type ScriptedReply = (request: IncomingMessage, response: ServerResponse) => void

export interface ScriptedServer {
  url: string
  /** All requests in their order. */
  requests: IncomingMessage[]
}

/** A server that gives these replies, one after another. Further requests are refused with 400. */
export async function serveReplies(t: TestContext, ...replies: ScriptedReply[]): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    const reply = replies[requests.push(request) - 1]
    if (reply) reply(request, response)
    else response.writeHead(400, { 'content-type': 'application/json' }).end('{"body": "not scripted", "status_code": 400}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
