import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendEvents, toStreamHeaders } from '../../server/sse.ts'

/** Converts a request for the MCP library. The body is parsed already, and access keys are not passed on. */
export function toFetchRequest({ headers, method }: FastifyRequest, signal: AbortSignal): Request {
  const mcpHeaders = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('mcp-'))
  return new Request('http://agent.invalid/mcp', {
    method,
    headers: [['accept', acceptOf(headers.accept)], ...mcpHeaders.map(([name, value]): [string, string] => [name, String(value)])],
    signal,
  })
}

/** The library requires both media types by name; a wildcard includes both (RFC 9110, 12.5.1). */
function acceptOf(accept = '*/*'): string {
  const takesAny = accept.split(',').some((range) => range.split(';', 1)[0]!.trim() === '*/*')
  return takesAny ? 'application/json, text/event-stream' : accept
}

/** Sends the response of the library: JSON as one body, events with the back-pressure of `sendEvents`. */
export async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const { status, headers, body } = response
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    const type = headers.get('content-type')
    if (type !== null) void reply.header('content-type', type)
    return reply.code(status).send(text === '' ? undefined : JSON.parse(text))
  }
  reply.hijack()
  reply.raw.writeHead(status, toStreamHeaders(reply))
  reply.raw.flushHeaders()
  await sendEvents(reply.raw, body.pipeThrough(new TextDecoderStream()), reply.server.streamKeepAliveMs)
  return reply
}
