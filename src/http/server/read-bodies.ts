import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerKey } from '../../access/owner.ts'
import { ServiceError } from '../../errors.ts'
import {
  createBodyBudget,
  createBodyPace,
  type BodyBudgetOptions,
  type BodyPace,
  type BodyPaceOptions,
  type BodyReservation,
} from './arriving-bodies.ts'
import { JsonScan } from './json-scan.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for a request with a body, from its headers on. */
    bodyReservation: BodyReservation | undefined
    /** Set when the client waits for `100 Continue` before sending its body. */
    awaitsContinue: ServerResponse | undefined
    /** True once the body is being read: a client that waited for `100 Continue` has received it. */
    isContinued: boolean
    /** Frees the budget of the body once the handler has dropped it. The end of the response does the same. */
    releaseBody(): void
  }
}

export interface BodyOptions extends BodyBudgetOptions, BodyPaceOptions {}

/** Receives the whole text of a body, or the error. */
export type BodyCallback = (error: ServiceError | undefined, text: string) => void

/** Reads the body of a request as text. */
export type ReadText = (request: FastifyRequest, callback: BodyCallback) => void

/** Memory of one parsed JSON value, beside the bytes of its text. */
const bytesPerValue = 128

/** Bodies up to this many bytes are not scanned: they cannot hold enough values to matter. */
const unscannedBytes = 1024

/** Reads bodies within limits: bytes and JSON values of each body, the time of its arrival, and the memory of all bodies together. */
export function readBodies(app: FastifyInstance, options: BodyOptions): ReadText {
  const budget = createBodyBudget(options)
  const pace = createBodyPace(options)
  app.decorateRequest('bodyReservation', undefined)
  app.decorateRequest('awaitsContinue', undefined)
  app.decorateRequest('isContinued', false)
  app.decorateRequest('releaseBody', release)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding, expect } = request.headers
    if (length === '0' && coding === undefined) return done(null, payload)
    const reservation = budget.reserve(callerOf(request))
    if (reservation instanceof ServiceError) return done(reservation)
    request.bodyReservation = reservation
    reply.raw.once('close', () => reservation.release())
    // RFC 9110, 10.1.1: `100 Continue` exists for HTTP/1.1 only.
    if (expect !== undefined && request.raw.httpVersion === '1.1') request.awaitsContinue = reply.raw
    done(null, payload)
  })
  // Node sends `100 Continue` at once unless the event has a listener; a refusal must be sent instead.
  app.server.on('checkContinue', (request, response) => void app.server.emit('request', request, response))
  return (request, callback) => readText(request, pace, callback)
}

function readText(request: FastifyRequest, pace: BodyPace, callback: BodyCallback): void {
  const { raw, bodyReservation: reservation } = request
  const { bodyLimit } = request.routeOptions
  const declaredBytes = Number(request.headers['content-length'] ?? Infinity)
  if (Number.isFinite(declaredBytes) && declaredBytes > bodyLimit) return callback(tooLarge(bodyLimit), '')
  request.awaitsContinue?.writeContinue()
  request.isContinued = true
  const scan = declaredBytes <= unscannedBytes ? undefined : new JsonScan()
  const chunks = new BodyChunks()
  const arriving = pace.start(end)

  function refusalOf(chunk: Buffer): ServiceError | undefined {
    if (arriving.bytes > bodyLimit) return tooLarge(bodyLimit)
    const valuesBefore = scan?.values ?? 0
    const refusal = scan?.add(chunk)
    return refusal ?? reservation?.take(chunk.length + ((scan?.values ?? 0) - valuesBefore) * bytesPerValue)
  }

  function onData(chunk: Buffer): void {
    pace.progress(arriving, chunk.length)
    const refusal = refusalOf(chunk)
    if (refusal) return end(refusal)
    chunks.add(chunk)
  }

  function onEnd(): void {
    end(undefined)
  }

  function onError(cause: Error): void {
    end(new ServiceError('request_timeout', 'The client closed the connection before its body was complete.', { cause }))
  }

  function end(error: ServiceError | undefined): void {
    raw.off('data', onData).off('end', onEnd).off('error', onError)
    pace.stop(arriving)
    reservation?.complete()
    if (!error) return callback(undefined, chunks.toText())
    chunks.clear()
    reservation?.release()
    // The rest of the body is read and dropped, so that the client can read the answer.
    raw.resume()
    callback(error, '')
  }

  raw.on('data', onData).on('end', onEnd).on('error', onError)
}

function release(this: FastifyRequest): void {
  this.bodyReservation?.release()
}

function callerOf({ principal }: FastifyRequest): string {
  return principal ? callerKey(principal) : ''
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

  clear(): void {
    this.joined = []
    this.recent = []
  }

  toText(): string {
    const buffers = [...this.joined, ...this.recent]
    return (buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers)).toString('utf8')
  }
}
