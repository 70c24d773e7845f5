import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerKey } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'
import { createBodyPace, type BodyPace, type BodyPaceOptions } from './body-pace.ts'
import { createBodyBudget, type BodyBudgetOptions, type BodyReservation } from './body-budget.ts'
import { JsonScan } from './json-scan.ts'
import { BodyChunks } from './pieces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a body is on its way, or in memory. */
    bodyShare: BodyReservation | undefined
    /** The response, where the client waits for `100 Continue` before it sends its body. */
    awaitsContinue: ServerResponse | undefined
    /** Set when the body is read: a client that waited for `100 Continue` has it. */
    isContinued: boolean
    /** The body is used and dropped: others may come. Done when the response is closed, if not before. */
    releaseBody(): void
  }
}

export interface BodyOptions extends BodyBudgetOptions, BodyPaceOptions {}

/** Takes the whole text of a body, or the reason why there is none. */
export type TakeText = (error: ServiceError | undefined, text: string) => void

/** Reads the body of a request as text. */
export type ReadText = (request: FastifyRequest, take: TakeText) => void

/** What one value of JSON takes in memory, beside the bytes of its text. */
const bytesPerValue = 128

/** Texts of so few bytes can't hold values that matter. */
const unscannedBytes = 1024

/** Reads bodies within bounds: the bytes of each, the values in them, the time that they take, and the memory of all of them together. */
export function readBodies(app: FastifyInstance, options: BodyOptions): ReadText {
  const room = createBodyBudget(options)
  const pace = createBodyPace(options)
  app.decorateRequest('bodyShare', undefined)
  app.decorateRequest('awaitsContinue', undefined)
  app.decorateRequest('isContinued', false)
  app.decorateRequest('releaseBody', release)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding, expect } = request.headers
    if (length === '0' && coding === undefined) return done(null, payload)
    const share = room.reserve(callerOf(request))
    if (share instanceof ServiceError) return done(share)
    request.bodyShare = share
    reply.raw.once('close', () => share.release())
    // RFC 9110, 10.1.1: only a client of HTTP/1.1 is told to go on.
    if (expect !== undefined && request.raw.httpVersion === '1.1') request.awaitsContinue = reply.raw
    done(null, payload)
  })
  // Node answers by itself only where nobody listens: a refusal must come in place of `100 Continue`.
  app.server.on('checkContinue', (request, response) => void app.server.emit('request', request, response))
  return (request, take) => readText(request, pace, take)
}

function readText(request: FastifyRequest, pace: BodyPace, take: TakeText): void {
  const { raw, bodyShare: share } = request
  const { bodyLimit } = request.routeOptions
  const declared = Number(request.headers['content-length'] ?? Infinity)
  if (Number.isFinite(declared) && declared > bodyLimit) return take(tooLarge(bodyLimit), '')
  request.awaitsContinue?.writeContinue()
  request.isContinued = true
  const scan = declared <= unscannedBytes ? undefined : new JsonScan()
  const pieces = new BodyChunks()
  const arriving = pace.start(end)

  function refusalOf(piece: Buffer): ServiceError | undefined {
    if (arriving.bytes > bodyLimit) return tooLarge(bodyLimit)
    const valuesBefore = scan?.values ?? 0
    const refusal = scan?.add(piece)
    return refusal ?? share?.take(piece.length + ((scan?.values ?? 0) - valuesBefore) * bytesPerValue)
  }

  function onData(piece: Buffer): void {
    pace.progress(arriving, piece.length)
    const refusal = refusalOf(piece)
    if (refusal) return end(refusal)
    pieces.add(piece)
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
    share?.complete()
    if (!error) return take(undefined, pieces.toText())
    pieces.clear()
    share?.release()
    // What still comes is dropped, so that the client can read its answer.
    raw.resume()
    take(error, '')
  }

  raw.on('data', onData).on('end', onEnd).on('error', onError)
}

function release(this: FastifyRequest): void {
  this.bodyShare?.release()
}

function callerOf({ principal }: FastifyRequest): string {
  return principal ? callerKey(principal) : ''
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('input_too_large', `The body is larger than the ${limit} bytes that are taken here.`)
}
