import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Balancer {
  url: string
  /** Number of forwarded requests by replica port. */
  readonly passed: ReadonlyMap<number, number>
  close(): void
}

/** Methods that may be repeated after a broken connection. Other methods are repeated only when the connection was never established. */
const safe = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Starts a small reverse proxy with round robin over ready replicas. Undeliverable requests and requests answered with 503 go to the next
 * replica. Streams are forwarded without buffering. Answers name their process (`nameOf` its port) in `x-replica`, and in `x-tries` the number
 * of replicas that the request was sent to.
 */
export async function startBalancer(ports: readonly number[], nameOf: (port: number) => string): Promise<Balancer> {
  const passed = new Map<number, number>()
  let ready = new Set(ports)
  let last = 0

  const checks = setInterval(() => void check(), checkMs)
  async function check(): Promise<void> {
    const readyPorts = await Promise.all(ports.map(async (port) => ((await isReady(port)) ? [port] : [])))
    ready = new Set(readyPorts.flat())
  }

  /** Ports in round-robin order, ready replicas first. Other replicas follow, because the readiness check may be outdated. */
  function inTurn(): number[] {
    last++
    const turned = ports.map((_, index) => ports[(last + index) % ports.length]!)
    return [...turned.filter((port) => ready.has(port)), ...turned.filter((port) => !ready.has(port))]
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request)
    let tries = 0
    let refusal: { answer: IncomingMessage; body: Buffer; port: number } | undefined
    for (const port of inTurn()) {
      const answer = await send(request, response, body, port)
      if (answer === 'unreached') continue
      tries++
      if (answer === 'broken') break
      if (answer.statusCode === 503 && !response.headersSent) {
        refusal = { answer, body: await readAll(answer), port }
        continue
      }
      passed.set(port, (passed.get(port) ?? 0) + 1)
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, 'x-replica': nameOf(port), 'x-tries': tries })
      answer.on('error', () => response.destroy())
      answer.on('aborted', () => response.destroy())
      answer.pipe(response)
      return
    }
    if (refusal && !response.headersSent) {
      response.writeHead(503, { ...refusal.answer.headers, 'x-replica': nameOf(refusal.port), 'x-tries': tries })
      return void response.end(refusal.body)
    }
    if (!response.headersSent) response.writeHead(502, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ body: 'No replica took the request.', status_code: 502 }))
  }

  const server = http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    close() {
      clearInterval(checks)
      server.close()
      server.closeAllConnections()
    },
  }
}

const checkMs = 250

function send(
  { method = 'GET', url, headers }: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  port: number,
): Promise<IncomingMessage | 'unreached' | 'broken'> {
  return new Promise((resolve) => {
    let isReached = false
    const onward = http.request({ host: '127.0.0.1', port, method, path: url, headers, agent: false })
    onward.on('socket', (socket) => socket.once('connect', () => (isReached = true)))
    onward.on('response', resolve)
    onward.on('error', () => resolve(!isReached || safe.has(method) ? 'unreached' : 'broken'))
    response.on('close', () => onward.destroy())
    onward.end(body)
  })
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  return answer?.ok ?? false
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
