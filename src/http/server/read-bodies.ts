import type { ServerResponse } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerKey } from '../../access/owner.ts'
import { ServiceError } from '../../errors.ts'
import { JsonScan } from './json-scan.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media types that the route takes beside `application/json`. The body is then parsed as JSON, or is the text. */
    bodyTypes?: Readonly<Record<string, 'json' | 'text'>>
    /** Largest body in bytes. Default: 1 MiB, for names, settings and feedback. `HTTP_BODY_LIMIT` bounds every limit. */
    maxBodyBytes?: number
  }
  interface FastifyRequest {
    /** Set for a request with a body, from its headers on. Released once the handler has dropped the body, and at the end of the response. */
    bodyReservation: BodyReservation | undefined
    /** Set when the client waits for `100 Continue` before sending its body. */
    awaitsContinue: ServerResponse | undefined
    /** True once the body is being read: a client that waited for `100 Continue` has received it. */
    isContinued: boolean
  }
}

const mebibyte = 1024 * 1024

/** The `maxBodyBytes` of routes whose bodies hold the content of a file, the rows of a chart, or the input of a tool. */
export const contentBytes = 4 * mebibyte

/** Sets the `bodyLimit` of each route that is registered later, unless the route sets its own. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= Math.min(route.config?.maxBodyBytes ?? mebibyte, bodyLimit)
  })
}

/**
 * Reads bodies of JSON, and on routes that take them, of other types. An empty body with a JSON content type is accepted here; the schema of the
 * route requires a body where needed.
 */
export function parseTexts(app: FastifyInstance, readText: ReadText): void {
  // Fastify accepts text/plain by default.
  app.removeContentTypeParser(['text/plain', 'application/json'])
  const parseJson = app.getDefaultJsonParser('error', 'error')

  function add(type: string): void {
    app.addContentTypeParser(type, (request: FastifyRequest, _payload: unknown, done: (error: Error | null, body?: unknown) => void) => {
      const coding = request.headers['content-encoding'] ?? 'identity'
      if (coding !== 'identity')
        return done(refusal(`The content coding ${coding} is not supported: send the body without a content coding.`))
      const form = type === 'application/json' ? 'json' : request.routeOptions.config.bodyTypes?.[type]
      if (form === undefined) return done(refusal('The content type must be application/json.'))
      readText(request, (error, text) => {
        if (error) done(error)
        else if (form === 'text') done(null, text)
        else if (text === '') done(null, undefined)
        else void parseJson(request, text, done)
      })
    })
  }

  add('application/json')
  app.addHook('onRoute', ({ config }) => {
    for (const type of Object.keys(config?.bodyTypes ?? {})) if (!app.hasContentTypeParser(type)) add(type)
  })
}

function refusal(message: string): ServiceError {
  return new ServiceError('unsupported_media_type', message)
}

/** Receives the whole text of a body, or the error. */
export type BodyCallback = (error: ServiceError | undefined, text: string) => void

/** Reads the body of a request as text. */
export type ReadText = (request: FastifyRequest, callback: BodyCallback) => void

export interface BodyOptions extends BodyPaceOptions {
  budget: BodyBudget
}

/** Reads bodies within limits: bytes and JSON values of each body, the time of its arrival, and the memory of all bodies together. */
export function readBodies(app: FastifyInstance, { budget, ...limits }: BodyOptions): ReadText {
  const pace = createBodyPace(limits)
  app.decorateRequest('bodyReservation', undefined)
  app.decorateRequest('awaitsContinue', undefined)
  app.decorateRequest('isContinued', false)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding, expect } = request.headers
    if (length === '0' && coding === undefined) return done(null, payload)
    const reservation = budget.reserve(request.principal ? callerKey(request.principal) : '')
    if (reservation instanceof ServiceError) return done(reservation)
    request.bodyReservation = reservation
    reply.raw.on('close', () => reservation.release())
    // RFC 9110, 10.1.1: `100 Continue` exists for HTTP/1.1 only.
    if (expect !== undefined && request.raw.httpVersion === '1.1') request.awaitsContinue = reply.raw
    done(null, payload)
  })
  // Node sends `100 Continue` at once unless the event has a listener; a refusal must be sent instead.
  app.server.on('checkContinue', (request, response) => void app.server.emit('request', request, response))
  return (request, callback) => readText(request, pace, callback)
}

/** Memory of one parsed JSON value, beside the bytes of its text. */
const bytesPerValue = 128

/** Bodies up to this many bytes are not scanned: they cannot hold enough values to matter. */
const unscannedBytes = 1024

function readText(request: FastifyRequest, pace: BodyPace, callback: BodyCallback): void {
  const { raw, bodyReservation: reservation } = request
  const { bodyLimit } = request.routeOptions
  const declaredBytes = Number(request.headers['content-length'] ?? Infinity)
  if (Number.isFinite(declaredBytes) && declaredBytes > bodyLimit) return callback(tooLarge(bodyLimit), '')
  request.awaitsContinue?.writeContinue()
  request.isContinued = true
  const scan = declaredBytes <= unscannedBytes ? undefined : new JsonScan()
  /** The body, where the whole body arrives in one chunk. */
  let whole: Buffer | undefined
  let chunks: BodyChunks | undefined
  const arriving = pace.start(end)

  function onData(chunk: Buffer): void {
    arriving.bytes += chunk.length
    const valuesBefore = scan?.values ?? 0
    const refusal = arriving.bytes > bodyLimit ? tooLarge(bodyLimit) : scan?.add(chunk)
    const refused = refusal ?? reservation?.take(chunk.length + ((scan?.values ?? 0) - valuesBefore) * bytesPerValue)
    if (refused) end(refused)
    else if (chunk.length === declaredBytes) whole = chunk
    else (chunks ??= new BodyChunks()).add(chunk)
  }

  function onError(cause: Error): void {
    end(new ServiceError('request_timeout', 'The client closed the connection before its body was complete.', { cause }))
  }

  /** Also the listener of the event `end`, which has no error. */
  function end(error?: ServiceError): void {
    raw.off('data', onData).off('end', end).off('error', onError)
    pace.stop(arriving)
    reservation?.complete()
    if (!error) return callback(undefined, whole?.toString('utf8') ?? chunks?.toText() ?? '')
    chunks = undefined
    reservation?.release()
    // The rest of the body is read and dropped, so that the client can read the answer.
    raw.resume()
    callback(error, '')
  }

  raw.on('data', onData).on('end', end).on('error', onError)
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('input_too_large', `The body must have at most ${limit} bytes.`)
}

/** Chunks that are joined into one buffer: a buffer of one byte takes about 200 bytes of memory. */
const chunksPerBuffer = 256

/** The chunks of a body, in order. Their memory stays close to their bytes, however small the chunks are. */
export class BodyChunks {
  private joined: Buffer[] = []
  private recent: Buffer[] = []

  add(chunk: Buffer): void {
    this.recent.push(chunk)
    if (this.recent.length < chunksPerBuffer) return
    this.joined.push(Buffer.concat(this.recent))
    this.recent = []
  }

  toText(): string {
    const buffers = [...this.joined, ...this.recent]
    return (buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers)).toString('utf8')
  }
}

export interface BodyBudgetOptions {
  /** Largest body in bytes. */
  bodyLimit: number
  /** Bytes of all bodies in memory at a time. A caller may hold half of the budget. */
  budgetBytes?: number
  /** Bodies of one caller that may be arriving at a time. A gateway with one key sends hundreds of requests at a time. */
  maxArriving?: number
}

/**
 * Bounds the memory of request bodies from their first byte until the request has used them, for each caller and in total. Load shedding does not
 * see buffers outside of the heap, so many large, slow bodies would exhaust the memory unnoticed.
 */
export class BodyBudget {
  totalBytes = 0
  readonly callers = new Map<string, CallerBodies>()
  readonly budgetBytes: number
  private readonly maxArriving: number

  constructor({ bodyLimit, maxArriving = 1000, budgetBytes }: BodyBudgetOptions) {
    this.maxArriving = maxArriving
    // The size of eight bodies, limited to a quarter of the heap, and at least the size of two bodies.
    this.budgetBytes = budgetBytes ?? Math.max(2 * bodyLimit, Math.min(8 * bodyLimit, getHeapStatistics().heap_size_limit / 4))
  }

  /** Opens a reservation for a body of `caller`, or returns `overloaded` when too many bodies of the caller are arriving. */
  reserve(caller: string): BodyReservation | ServiceError {
    const bodies = this.callers.get(caller) ?? { bytes: 0, arriving: 0 }
    if (bodies.arriving >= this.maxArriving) return overloaded('Too many of your requests are still sending their bodies.')
    this.callers.set(caller, bodies)
    bodies.arriving++
    return new BodyReservation(this, caller, bodies)
  }
}

interface CallerBodies {
  bytes: number
  arriving: number
}

/** The share of one request in the budget. */
class BodyReservation {
  private readonly budget: BodyBudget
  private readonly caller: string
  private readonly bodies: CallerBodies
  private reservedBytes = 0
  private isArriving = true
  private isReleased = false

  constructor(budget: BodyBudget, caller: string, bodies: CallerBodies) {
    this.budget = budget
    this.caller = caller
    this.bodies = bodies
  }

  /** Reserves more bytes, or returns `overloaded`. A single body always fits. */
  take(bytes: number): ServiceError | undefined {
    const { budget, bodies, reservedBytes } = this
    const { budgetBytes, totalBytes } = budget
    // The response has ended: nothing would return the bytes.
    if (this.isReleased) return undefined
    if (bodies.bytes > reservedBytes && bodies.bytes + bytes > budgetBytes / 2) return tooMuchMemory('your requests')
    if (totalBytes > reservedBytes && totalBytes + bytes > budgetBytes) return tooMuchMemory('all requests')
    this.reservedBytes += bytes
    bodies.bytes += bytes
    budget.totalBytes += bytes
    return undefined
  }

  /** Marks the body as complete. */
  complete(): void {
    if (this.isArriving) this.bodies.arriving--
    this.isArriving = false
  }

  /** Returns all reserved bytes to the budget. */
  release(): void {
    const { budget, caller, bodies } = this
    if (this.isReleased) return
    this.isReleased = true
    this.complete()
    bodies.bytes -= this.reservedBytes
    budget.totalBytes -= this.reservedBytes
    if (bodies.bytes === 0 && bodies.arriving === 0) budget.callers.delete(caller)
  }
}

function tooMuchMemory(requests: string): ServiceError {
  return overloaded(`The bodies of ${requests} together take too much memory: try again later.`)
}

function overloaded(message: string): ServiceError {
  return new ServiceError('overloaded', message, { retryAfter: 2 })
}

export interface BodyPaceOptions {
  /** Milliseconds without a byte after which a body is refused. Default: 30,000. */
  stalledMs?: number
}

/** Minimum average rate in bytes per second, enforced once a body has taken longer than two stall times. */
const minBytesPerSecond = 4096

/** A body that is still arriving. */
interface ArrivingBody {
  /** Bytes so far; the reader of the body adds to them. */
  bytes: number
  /** Ticks at the start, and at the last check that found more bytes than the check before. */
  startTick: number
  lastTick: number
  bytesAtLastTick: number
  refuse(error: ServiceError): void
}

export interface BodyPace {
  start(refuse: ArrivingBody['refuse']): ArrivingBody
  stop(body: ArrivingBody): void
}

/** Ticks of the timer in one stall time. */
const stallTicks = 30

/**
 * Refuses bodies that stall or arrive too slowly. One timer checks all bodies: most bodies are complete before its first tick and need no timer of
 * their own. Time is counted in ticks, so a body is not blamed for a pause of the process itself.
 */
export function createBodyPace({ stalledMs = 30_000 }: BodyPaceOptions = {}): BodyPace {
  const tickMs = stalledMs / stallTicks
  const arriving = new Set<ArrivingBody>()
  let timer: NodeJS.Timeout | undefined
  let tick = 0

  function checkAll(): void {
    tick++
    for (const body of arriving) {
      if (body.bytes > body.bytesAtLastTick) Object.assign(body, { lastTick: tick, bytesAtLastTick: body.bytes })
      const seconds = ((tick - body.startTick - 2 * stallTicks) * tickMs) / 1000
      if (tick - body.lastTick > stallTicks) body.refuse(timeoutError(`No byte of the body arrived for ${stalledMs / 1000} s.`))
      else if (seconds * minBytesPerSecond > body.bytes) body.refuse(timeoutError('The body arrives too slowly.'))
    }
    if (arriving.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    start(refuse) {
      const body = { bytes: 0, startTick: tick, lastTick: tick, bytesAtLastTick: 0, refuse }
      arriving.add(body)
      timer ??= setInterval(checkAll, tickMs).unref()
      return body
    },
    stop: (body) => void arriving.delete(body),
  }
}

function timeoutError(message: string): ServiceError {
  return new ServiceError('request_timeout', message)
}
