import { createServer, type Socket } from 'node:net'
import { closing, jsonAnswer, opening, shortAnswer, token, toolAnswer } from './wire.ts'

/**
 * Scripted model of the benchmark: a minimal chat-completions server on bare sockets, so that the model is never the bottleneck. The last
 * order in the request selects the answer: `bench:short`, `bench:tokens <n>` (as fast as the client reads), `bench:slow <n> <ms>` (a token
 * every `ms` milliseconds), or `bench:tools <n>` (`n` tool calls, then a short answer). A request without `"stream": true` is answered with
 * the short answer as JSON. Prints the port.
 */

interface Stream {
  socket: Socket
  remainingTokens: number
  /** Milliseconds between tokens, and due time of the next token. Ignored for fast streams. */
  everyMs: number
  dueAt: number
}

const fast = new Set<Stream>()
const slow = new Set<Stream>()
const calls = new Map<string, Buffer>()
let isScheduled = false

/** Writes a token to each fast stream per turn of the event loop, as a model decodes a batch. */
function writeBatch(): void {
  for (const stream of fast) if (stream.socket.writableLength < maxBufferedBytes) send(stream, fast)
  isScheduled = fast.size > 0
  if (isScheduled) setImmediate(writeBatch)
}

const maxBufferedBytes = 64 * 1024

function send(stream: Stream, streams: Set<Stream>): void {
  if (stream.socket.destroyed) return void streams.delete(stream)
  if (stream.remainingTokens-- > 0) return void stream.socket.write(token)
  streams.delete(stream)
  stream.socket.write(closing)
}

/** Late tokens are written together to keep the average rate. */
setInterval(() => {
  const now = performance.now()
  for (const stream of slow) {
    while (stream.dueAt <= now && slow.has(stream)) {
      stream.dueAt += stream.everyMs
      send(stream, slow)
    }
  }
}, 5)

function answer(socket: Socket, body: string): void {
  if (!/"stream": ?true/.test(body)) return void socket.write(jsonAnswer)
  const at = body.lastIndexOf('bench:')
  const [kind, count = '0', everyMs = '0'] = /^[\w ]+/.exec(body.slice(at + 6, at + 40))?.[0].split(' ') ?? []
  if (kind === 'short') return void socket.write(shortAnswer)
  if (kind === 'tools') return void socket.write(body.lastIndexOf('"role":"tool"') > at ? shortAnswer : callsOf(count))
  socket.write(opening)
  const stream = { socket, remainingTokens: Number(count), everyMs: Number(everyMs), dueAt: performance.now() + Number(everyMs) }
  if (kind === 'slow') return void slow.add(stream)
  fast.add(stream)
  if (!isScheduled) setImmediate(writeBatch)
  isScheduled = true
}

function callsOf(count: string): Buffer {
  const bytes = calls.get(count) ?? toolAnswer(Number(count))
  calls.set(count, bytes)
  return bytes
}

/** Serves the requests of a connection sequentially. The body length is taken from `content-length`. */
function serve(socket: Socket): void {
  let received = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
    const head = received.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: *(\d+)/i.exec(received.toString('latin1', 0, head))?.[1])
    if (received.length < head + 4 + length) return
    const body = received.toString('latin1', head + 4)
    received = Buffer.alloc(0)
    answer(socket, body)
  })
}

const server = createServer(serve)
server.listen({ port: 0, host: '127.0.0.1', backlog: 8192 }, () => {
  const bound = server.address()
  console.log(typeof bound === 'object' ? bound?.port : bound)
})
