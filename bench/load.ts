import { connect, type Socket } from 'node:net'

/** Answer as measured by the client. Times are milliseconds of `performance.now()`. */
export interface TimedAnswer {
  sentAt: number
  /** Arrival of the first token; undefined unless `send` was given a `token`. */
  tokenAt: number | undefined
  endedAt: number
  /** The whole answer; empty unless `send` was asked to keep the text. */
  text: string
}

export interface Target {
  port: number
  path: string
  headers?: Record<string, string>
  /** Fields of the body besides the messages. */
  fields?: object
}

/** Serializes a complete chat request in advance, so that sending costs no processor time. Without `message`, `fields` are the whole body. */
export function toRequest({ path, headers = {}, fields }: Target, message?: string): Buffer {
  const messages = message === undefined ? {} : { messages: [{ role: 'user', content: message }] }
  const body = JSON.stringify({ ...fields, ...messages })
  const lines = Object.entries({ 'content-type': 'application/json', 'content-length': body.length, ...headers })
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: bench\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}

/** Buffer shared by all sockets: each callback copies its bytes before the next read. */
const readBuffer = Buffer.allocUnsafe(256 * 1024)
const tailLength = 512
const lastChunk = '0\r\n\r\n'

/**
 * HTTP client with one keep-alive connection and one request at a time. Bare sockets are used because Node's clients would take more
 * processor time than the measured service. `send` rejects unless the answer is a 200 whose last 512 bytes contain `end`.
 */
export class Client {
  private readonly socket: Socket
  private readonly end: string
  private readonly tail = Buffer.alloc(tailLength)
  private tailFilled = 0
  private length: number | undefined
  private readBytes = 0
  private answer: TimedAnswer = { sentAt: 0, tokenAt: undefined, endedAt: 0, text: '' }
  private keepsText = false
  private token: string | undefined
  private gapsMs: number[] | undefined
  private receivedAt = 0
  private resolve: ((answer: TimedAnswer) => void) | undefined
  private reject: ((error: Error) => void) | undefined

  constructor(port: number, end: string) {
    this.end = end
    const callback = (count: number) => (this.receive(readBuffer.subarray(0, count)), true)
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: readBuffer, callback } })
    this.socket.on('error', (error) => this.reject?.(error))
    this.socket.on('close', () => this.reject?.(new Error('The connection was closed.')))
  }

  /**
   * Sends one request. `keepText` keeps the answer's text; `token` is the text of a token, and sets `tokenAt` at its first occurrence. The times
   * between two reads are added to `gapsMs`.
   */
  send(
    request: Buffer,
    { keepText = false, token, gapsMs }: { keepText?: boolean; token?: string; gapsMs?: number[] } = {},
  ): Promise<TimedAnswer> {
    this.readBytes = 0
    this.gapsMs = gapsMs
    this.tailFilled = 0
    this.keepsText = keepText || token !== undefined
    this.token = token
    this.answer = { sentAt: performance.now(), tokenAt: undefined, endedAt: 0, text: '' }
    this.socket.write(request)
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  close(): void {
    this.reject = undefined
    this.socket.destroy()
  }

  private receive(bytes: Buffer): void {
    if (this.readBytes === 0 && !this.readHead(bytes)) return
    if (this.gapsMs) this.addGap(this.gapsMs)
    this.readBytes += bytes.length
    if (this.keepsText) this.answer.text += bytes.toString('latin1')
    if (this.token !== undefined && this.answer.tokenAt === undefined && this.answer.text.includes(this.token)) {
      this.answer.tokenAt = performance.now()
    }
    this.keepTail(bytes)
    const isOver = this.length === undefined ? this.tailText(lastChunk.length) === lastChunk : this.readBytes >= this.length
    if (isOver) this.finish()
  }

  private addGap(gapsMs: number[]): void {
    const now = performance.now()
    if (this.readBytes > 0) gapsMs.push(now - this.receivedAt)
    this.receivedAt = now
  }

  private readHead(bytes: Buffer): boolean {
    const head = bytes.toString('latin1', 0, 2048)
    if (!head.startsWith('HTTP/1.1 200')) {
      this.reject?.(new Error(`The answer is not a 200: ${head}`))
      return false
    }
    const length = /content-length: *(\d+)/i.exec(head)?.[1]
    this.length = length === undefined ? undefined : head.indexOf('\r\n\r\n') + 4 + Number(length)
    return true
  }

  private finish(): void {
    this.answer.endedAt = performance.now()
    if (this.tailText(tailLength).includes(this.end)) this.resolve?.(this.answer)
    else this.reject?.(new Error(`The answer does not contain "${this.end}" in its last bytes: ${this.tailText(tailLength)}`))
  }

  private keepTail(bytes: Buffer): void {
    const added = Math.min(bytes.length, tailLength)
    const keptLength = Math.min(this.tailFilled, tailLength - added)
    this.tail.copyWithin(0, this.tailFilled - keptLength, this.tailFilled)
    bytes.copy(this.tail, keptLength, bytes.length - added)
    this.tailFilled = keptLength + added
  }

  private tailText(length: number): string {
    return this.tail.toString('latin1', Math.max(0, this.tailFilled - length), this.tailFilled)
  }
}

/** Sends `request` in a closed loop from every client for `seconds`. Returns all latencies in milliseconds. */
export async function hammer(
  clients: readonly Client[],
  request: Buffer,
  seconds: number,
): Promise<{ latencies: number[]; tookMs: number }> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) {
        const { sentAt, endedAt } = await client.send(request)
        latencies.push(endedAt - sentAt)
      }
    }),
  )
  return { latencies, tookMs: performance.now() - startedAt }
}
