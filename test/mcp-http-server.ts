import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'

export interface McpHttpServer {
  url: string
  requests: { method: string; headers: IncomingHttpHeaders; body: any }[]
  /** Answers in place of the server where it says so. */
  intercept: (request: IncomingMessage, response: ServerResponse, body: any) => boolean | Promise<boolean>
  /** What the tool `moody` is told to do; a change is announced. */
  describe(text: string): void
  close(): Promise<void>
}

/** A stateless server of the 2026 protocol on loopback, by the official SDK. */
export async function startMcpServer(): Promise<McpHttpServer> {
  let description = 'Tells the weather.'
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true } } })
    const anything = { inputSchema: fromJsonSchema({ type: 'object' }) }
    server.registerTool('moody', { description, ...anything, annotations: { readOnlyHint: true } }, () => ({
      content: [{ type: 'text', text: 'sunny' }],
    }))
    server.registerTool('tell', { description: 'Tells its context.', ...anything }, (_input: unknown, context: any) => ({
      content: [{ type: 'text', text: JSON.stringify(context.mcpReq._meta) }],
    }))
    server.registerTool('wait', { description: 'Waits.', ...anything }, async (_input: unknown, context: any) => {
      await new Promise((resolve) => context.mcpReq.signal.addEventListener('abort', resolve, { once: true }))
      return { content: [] }
    })
    return server
  })
  const own: McpHttpServer = {
    url: '',
    requests: [],
    intercept: () => false,
    describe(text) {
      description = text
      handler.notify.toolsChanged()
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const text = Buffer.concat(pieces).toString()
    const body = parse(text)
    own.requests.push({ method: request.method ?? '', headers: request.headers, body })
    if (await own.intercept(request, response, body)) return
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    const answered = await handler.fetch(
      new Request(new URL(request.url ?? '/', own.url), {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
        ...(text !== '' && { body: text }),
        signal: leaving.signal,
      }),
    )
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.flushHeaders()
    if (answered.body) for await (const piece of answered.body) response.write(piece)
    response.end()
  }
  const server = http.createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  own.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return own
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
