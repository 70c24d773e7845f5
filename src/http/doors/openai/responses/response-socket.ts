import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import type { RawData, WebSocket } from 'ws'
import { fieldsOf, isObject, parseJson } from '../../../../json/shape.ts'
import { JsonScan } from '../../../server/json-scan.ts'
import { requestLocally } from '../../../server/local-request.ts'
import { continueUnstored, type Unstored } from './unstored-turns.ts'

interface SocketOptions {
  client: WebSocket
  server: Server
  /** Headers of each request. */
  headers: IncomingHttpHeaders
  /** Milliseconds between pings. */
  pingMs: number
}

/** Messages that wait for the response before them, and their bytes. */
const maxWaiting = { messages: 8, bytes: 16 * 1024 * 1024 } as const
/** Milliseconds of a connection, and of a connection without a response. */
const lifeMs = 60 * 60_000
const idleMs = 10 * 60_000
/** Bytes on their way to the client, above which no more are read from the run. */
const maxBuffered = 65_536
/** Bytes on their way to the client, above which its next message ends the connection. */
const maxUnread = 4 * 1024 * 1024
/** Milliseconds that a client has to answer the close of the connection. */
const closeMs = 1000

/** Close codes of RFC 6455. */
const normal = 1000
const goingAway = 1001

interface Failure {
  status: number
  error: object
}

/** One connection: a message is a request, whose events are the answer, one response at a time. */
export class ResponseSocket {
  private readonly options: SocketOptions
  private readonly waiting: string[] = []
  private waitingBytes = 0
  private isBusy = false
  private isClosing = false
  private isAlive = true
  private readonly begin = Date.now()
  private lastUse = Date.now()
  private readonly closed = new AbortController()
  private unstored: Unstored | undefined

  constructor(options: SocketOptions) {
    this.options = options
    const { client, pingMs } = options
    const timer = setInterval(() => this.check(), pingMs)
    client.on('pong', () => (this.isAlive = true))
    client.on('message', (data, isBinary) => this.receive(data, isBinary))
    // The library closes the connection after an error of the protocol or a message that is too large.
    client.on('error', () => undefined)
    client.once('close', () => {
      clearInterval(timer)
      this.waiting.length = 0
      this.closed.abort()
    })
  }

  onClose(listener: () => void): void {
    this.options.client.once('close', listener)
  }

  /** Closes the connection, after the response that goes on. */
  shutDown(): void {
    this.isClosing = true
    this.waiting.length = 0
    if (!this.isBusy) this.close(goingAway, 'The service is stopping.')
  }

  private close(code: number, reason: string): void {
    const { client } = this.options
    client.close(code, reason)
    setTimeout(() => client.terminate(), closeMs).unref()
  }

  /** Ends connections of lost clients, and connections that are too old or unused. */
  private check(): void {
    const { client } = this.options
    if (!this.isAlive) return client.terminate()
    this.isAlive = false
    client.ping()
    if (this.isBusy) return
    if (Date.now() - this.begin > lifeMs) {
      void this.fail(limitReached)
      this.close(normal, 'The connection has reached its limit of 60 minutes.')
    } else if (Date.now() - this.lastUse > idleMs) this.close(normal, 'The connection was not used.')
  }

  private receive(data: RawData, isBinary: boolean): void {
    const { length } = data as Buffer
    // Answers that the client does not read would fill the memory.
    if (this.options.client.bufferedAmount > maxUnread) return this.options.client.terminate()
    if (isBinary) return void this.fail(faultOf('A message must be a text.'))
    if (this.isClosing)
      return void this.fail({
        status: 503,
        error: { type: 'server_error', code: 'overloaded', message: 'The service is stopping.', param: null },
      })
    if (this.waiting.length >= maxWaiting.messages || this.waitingBytes + length > maxWaiting.bytes)
      return void this.fail({ ...faultOf('Too many messages wait for the response before them.', 'too_many_messages', null), status: 429 })
    this.waiting.push((data as Buffer).toString('utf8'))
    this.waitingBytes += length
    if (!this.isBusy) void this.work()
  }

  /** Answers the waiting messages in their order. */
  private async work(): Promise<void> {
    this.isBusy = true
    for (let message = this.waiting.shift(); message !== undefined; message = this.waiting.shift()) {
      this.waitingBytes -= Buffer.byteLength(message)
      await this.answer(message).catch(() => this.fail(broken))
    }
    this.isBusy = false
    this.lastUse = Date.now()
    if (this.isClosing) this.close(goingAway, 'The service is stopping.')
  }

  private async answer(message: string): Promise<void> {
    const sent = readMessage(message)
    if ('status' in sent) return this.fail(sent)
    const turn = continueUnstored(sent.body, this.unstored)
    const { server, headers } = this.options
    const reply = await requestLocally(server, {
      method: 'POST',
      path: '/v1/responses',
      headers: { ...headers, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ ...turn.body, stream: true }),
      signal: this.closed.signal,
    })
    if (!reply.headers['content-type']?.startsWith('text/event-stream')) {
      if (turn.previous !== undefined) this.unstored = undefined
      return this.fail({ status: reply.statusCode ?? 500, error: await errorIn(reply) })
    }
    let last = ''
    for await (const data of eventsOf(reply)) {
      last = turn.previous === undefined ? data : withPrevious(data, turn.previous)
      await this.send(last)
    }
    this.unstored = turn.after(fieldsOf(fieldsOf(parseJson(last))['response']))
    if (!isEnd.test(last)) await this.fail(broken)
  }

  private fail({ status, error }: Failure): Promise<void> {
    return this.send(JSON.stringify({ type: 'error', status, error }))
  }

  /** Resolves once the client has room for more. A client that reads nothing answers no ping, and is disconnected. */
  private async send(text: string): Promise<void> {
    const { client } = this.options
    if (client.readyState !== client.OPEN) return
    if (client.bufferedAmount < maxBuffered) client.send(text)
    else await new Promise<void>((resolve) => client.send(text, () => resolve()))
  }
}

const isEnd = /^\{"type":"response\.(?:completed|incomplete|failed)"/

function faultOf(message: string, code = 'invalid_value', param: string | null = null): Failure {
  return { status: 400, error: { type: 'invalid_request_error', code, message, param } }
}

const limitReached = faultOf(
  'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  'websocket_connection_limit_reached',
)
const broken: Failure = {
  status: 500,
  error: { type: 'server_error', code: 'server_error', message: 'The response was cut off.', param: null },
}

/** The body of a `response.create` message, or what is wrong with the message. */
function readMessage(message: string): { body: Record<string, unknown> } | Failure {
  const tooLarge = new JsonScan().add(Buffer.from(message))
  if (tooLarge) return faultOf(tooLarge.message, 'input_too_large')
  const value = parseJson(message)
  if (!isObject(value)) return faultOf('A message must be a JSON object.', 'invalid_json')
  const { type, ...body } = value
  if (type === 'response.steer')
    return faultOf(
      'response.steer is not supported: POST /core/v1/runs/{request_id}/messages steers a run.',
      'steering_not_supported',
      'type',
    )
  if (type !== 'response.create') return faultOf('type: must be response.create', 'invalid_value', 'type')
  if (body['background']) return faultOf('background: is not supported over WebSocket', 'unsupported_parameter', 'background')
  return { body }
}

/** The `data` of server-sent events; comments are left out. */
async function* eventsOf(reply: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of reply.setEncoding('utf8')) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const at = block.indexOf('\ndata: ')
      if (at >= 0) yield block.slice(at + '\ndata: '.length)
    }
  }
}

async function errorIn(reply: IncomingMessage): Promise<object> {
  const { error } = fieldsOf(parseJson(await textOf(reply)))
  return isObject(error) ? error : { type: 'server_error', code: null, message: 'There are no further events.', param: null }
}

/** An event that names the response which the connection continued. */
function withPrevious(data: string, previous: string): string {
  const event = fieldsOf(parseJson(data))
  const { response } = event
  return isObject(response) ? JSON.stringify({ ...event, response: { ...response, previous_response_id: previous } }) : data
}
