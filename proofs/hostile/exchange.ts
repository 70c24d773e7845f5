import { Agent, request as send, type IncomingMessage } from 'node:http'
import { maxText, type Exchange } from './judge.ts'
import { bodyOf, targetOf, type ServiceRequest } from './request.ts'

/** After this time without an answer, or without its end, the service hangs. */
const hangMs = 30_000
/** A stream of events is left after this time. */
const leaveMs = 700

/** Sends requests over kept connections. */
export function createSender(port: number, connections: number): { exchange(request: ServiceRequest): Promise<Exchange>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })

  function exchange(request: ServiceRequest): Promise<Exchange> {
    const { promise, resolve } = Promise.withResolvers<Exchange>()
    const started = performance.now()
    const body = bodyOf(request)
    const headers = { ...request.headers, ...(body && { 'content-length': String(body.length) }) }
    const outgoing = send({ agent, port, host: '127.0.0.1', method: request.method, path: targetOf(request), headers })
    let status = 0
    let replyHeaders: Exchange['headers'] = {}
    let text = ''
    const end = (how: Exchange['end']) => {
      clearTimeout(hanging)
      resolve({ status, headers: replyHeaders, text, end: how, ms: performance.now() - started })
      if (how !== 'whole') outgoing.destroy()
    }
    const hanging = setTimeout(end, hangMs, 'hung')
    outgoing.on('response', (reply: IncomingMessage) => {
      status = reply.statusCode ?? 0
      replyHeaders = reply.headers
      if (reply.headers['content-type']?.startsWith('text/event-stream')) setTimeout(end, leaveMs, 'left').unref()
      reply.setEncoding('utf8')
      reply.on('data', (piece: string) => void (text.length < maxText && (text += piece)))
      reply.on('end', () => end('whole'))
      reply.on('error', () => end('closed'))
    })
    outgoing.on('error', () => end('closed'))
    outgoing.end(body)
    return promise
  }

  return { exchange, close: () => agent.destroy() }
}
