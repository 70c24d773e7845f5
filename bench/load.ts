import { connect, type Socket } from 'node:net'

/** One answer, as the load sees it; times in milliseconds of `performance.now()`. */
export interface Answered {
  sentAt: number
  /** When the first token had arrived; undefined where none was looked for. */
  tokenAt: number | undefined
  endedAt: number
  /** The whole answer, where it was asked for. */
  text: string
}

export interface Target {
  port: number
  path: string
  headers?: Record<string, string>
}

/** The bytes of a chat request: the whole of what is sent, so that sending costs nothing. */
export function toRequest({ path, headers = {} }: Target, message: string): Buffer {
  const body = JSON.stringify({ messages: [{ role: 'user', content: message }] })
  const lines = Object.entries({ 'content-type': 'application/json', 'content-length': body.length, ...headers })
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: bench\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}

/** All reads go here: a callback takes what it needs before the next. */
const shared = Buffer.allocUnsafe(256 * 1024)
const tailLength = 512
const lastChunk = '0\r\n\r\n'

/**
 * A kept-alive connection with one request at a time, on a bare socket: Node's own clients cost more than what they would measure.
 * Rejects when the answer is not a 200 that ends as `end` says, a text that its last 500 bytes must hold.
 */
export class Client {
  private readonly socket: Socket
  private readonly end: string
  private readonly tail = Buffer.alloc(tailLength)
  private tailFilled = 0
  private length: number | undefined
  private read = 0
  private answered: Answered = { sentAt: 0, tokenAt: undefined, endedAt: 0, text: '' }
  private keeps = false
  private token: string | undefined
  private resolve: ((answered: Answered) => void) | undefined
  private reject: ((error: Error) => void) | undefined

  constructor(port: number, end: string) {
    this.end = end
    const callback = (count: number) => (this.take(shared.subarray(0, count)), true)
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: shared, callback } })
    this.socket.on('error', (error) => this.reject?.(error))
    this.socket.on('close', () => this.reject?.(new Error('the connection was closed')))
  }

  /** `keeps` keeps the text; `token` is a text to tell the first token by. */
  send(request: Buffer, { keeps = false, token }: { keeps?: boolean; token?: string } = {}): Promise<Answered> {
    this.read = 0
    this.tailFilled = 0
    this.keeps = keeps || token !== undefined
    this.token = token
    this.answered = { sentAt: performance.now(), tokenAt: undefined, endedAt: 0, text: '' }
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

  private take(bytes: Buffer): void {
    if (this.read === 0 && !this.begin(bytes)) return
    this.read += bytes.length
    if (this.keeps) this.answered.text += bytes.toString('latin1')
    if (this.token !== undefined && this.answered.tokenAt === undefined && this.answered.text.includes(this.token)) {
      this.answered.tokenAt = performance.now()
    }
    this.keepTail(bytes)
    const isOver = this.length === undefined ? this.tailText(lastChunk.length) === lastChunk : this.read >= this.length
    if (isOver) this.finish()
  }

  private begin(bytes: Buffer): boolean {
    const head = bytes.toString('latin1', 0, 2048)
    if (!head.startsWith('HTTP/1.1 200')) {
      this.reject?.(new Error(`answered ${head}`))
      return false
    }
    const length = /content-length: *(\d+)/i.exec(head)?.[1]
    this.length = length === undefined ? undefined : head.indexOf('\r\n\r\n') + 4 + Number(length)
    return true
  }

  private finish(): void {
    this.answered.endedAt = performance.now()
    if (this.tailText(tailLength).includes(this.end)) this.resolve?.(this.answered)
    else this.reject?.(new Error(`ended with ${this.tailText(tailLength)}`))
  }

  private keepTail(bytes: Buffer): void {
    const added = Math.min(bytes.length, tailLength)
    const kept = Math.min(this.tailFilled, tailLength - added)
    this.tail.copyWithin(0, this.tailFilled - kept, this.tailFilled)
    bytes.copy(this.tail, kept, bytes.length - added)
    this.tailFilled = kept + added
  }

  private tailText(length: number): string {
    return this.tail.toString('latin1', Math.max(0, this.tailFilled - length), this.tailFilled)
  }
}

/** `count` clients, each asking again as soon as it has its answer, for `seconds`. Answers with every latency, in milliseconds. */
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
