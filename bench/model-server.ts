import { createServer, type Socket } from 'node:net'
import { closing, opening, shortAnswer, token, toolAnswer } from './wire.ts'

/**
 * The benchmark's model: a chat-completions server as lean as it can be, on bare sockets, so that it is never what is measured. The
 * last order in the request says what it answers: `bench:short`, `bench:tokens <n>` as fast as they are taken, `bench:slow <n> <ms>`
 * one token each so many milliseconds, `bench:tools <n>` calls and then a short answer. Prints its port.
 */

interface Stream {
  socket: Socket
  left: number
  /** Milliseconds between tokens, and when the next is due; fast streams have none. */
  everyMs: number
  dueAt: number
}

const fast = new Set<Stream>()
const slow = new Set<Stream>()
const calls = new Map<string, Buffer>()
let isTurning = false

/** One token for each fast stream per turn of the event loop, each a write of its own, as a model decodes a batch. */
function turn(): void {
  for (const stream of fast) if (stream.socket.writableLength < maxBehind) send(stream, fast)
  isTurning = fast.size > 0
  if (isTurning) setImmediate(turn)
}

const maxBehind = 64 * 1024

function send(stream: Stream, of: Set<Stream>): void {
  if (stream.socket.destroyed) return void of.delete(stream)
  if (stream.left-- > 0) return void stream.socket.write(token)
  of.delete(stream)
  stream.socket.write(closing)
}

/** Tokens that are late come together, so that the pace holds. */
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
  const at = body.lastIndexOf('bench:')
  const [kind, count = '0', everyMs = '0'] = /^[\w ]+/.exec(body.slice(at + 6, at + 40))?.[0].split(' ') ?? []
  if (kind === 'short') return void socket.write(shortAnswer)
  if (kind === 'tools') return void socket.write(body.lastIndexOf('"role":"tool"') > at ? shortAnswer : callsOf(count))
  socket.write(opening)
  const stream = { socket, left: Number(count), everyMs: Number(everyMs), dueAt: performance.now() + Number(everyMs) }
  if (kind === 'slow') return void slow.add(stream)
  fast.add(stream)
  if (!isTurning) setImmediate(turn)
  isTurning = true
}

function callsOf(count: string): Buffer {
  const known = calls.get(count) ?? toolAnswer(Number(count))
  calls.set(count, known)
  return known
}

/** Requests of one connection, one after another; a body is as long as its content-length says. */
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
