import { Transform, type Readable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerKey } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of its body that stand in memory, as far as they are counted. */
    bodyBytes: number
    /** What was in the body is used, and dropped: others may come. Done when the answer is sent, if not before. */
    releaseBody(): void
  }
}

export interface BodyRoomOptions {
  /** Bytes of one body. */
  bodyLimit: number
  /** Bytes of all bodies that stand in memory at a time; half of it for one caller. */
  room?: number
  /** A body of which nothing comes for so long is given up. */
  stalledMs?: number
}

/** Smaller ones are not counted: nobody has so many connections that they matter. */
const smallBytes = 65_536
const retryAfter = 2

/**
 * Bounds the memory that bodies take from their first byte until they are used: each may be large, a caller may send many at a time,
 * slowly, and all of it stands outside of the heap that load shedding looks at. Refuses with `overloaded` or `request_timeout`.
 */
export function boundBodies(app: FastifyInstance, { bodyLimit, room = roomFor(bodyLimit), stalledMs = 30_000 }: BodyRoomOptions): void {
  const ofCaller = new Map<string, number>()
  let all = 0

  function add(caller: string, bytes: number): void {
    all += bytes
    const own = (ofCaller.get(caller) ?? 0) + bytes
    if (own > 0) ofCaller.set(caller, own)
    else ofCaller.delete(caller)
  }

  function take(request: FastifyRequest, caller: string, bytes: number): ServiceError | undefined {
    const own = ofCaller.get(caller) ?? 0
    // One body alone always fits.
    if (own > request.bodyBytes && own + bytes > room / 2) return tooMuch('your requests')
    if (all > request.bodyBytes && all + bytes > room) return tooMuch('requests')
    request.bodyBytes += bytes
    add(caller, bytes)
    return undefined
  }

  function count(request: FastifyRequest, reply: FastifyReply, body: Readable): Readable {
    const caller = request.principal ? callerKey(request.principal) : ''
    const late = () => new ServiceError('request_timeout', `Nothing of the body came for ${stalledMs / 1000} s.`)
    const timer = setTimeout(() => refuse(late()), stalledMs)
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        // It may have been cut off already.
        const refusal = reply.raw.closed ? late() : take(request, caller, chunk.length)
        if (refusal) return refuse(refusal)
        timer.refresh()
        done(null, chunk)
      },
    })

    function refuse(error: Error): void {
      void reply.header('connection', 'close')
      body.unpipe(counted)
      // What still comes is not kept, and the answer can be read.
      body.resume()
      counted.destroy(error)
    }

    body.on('error', (error) => counted.destroy(error))
    counted.once('close', () => clearTimeout(timer))
    reply.raw.once('close', () => {
      request.releaseBody()
      counted.destroy()
    })
    request.releaseBody = () => {
      add(caller, -request.bodyBytes)
      request.bodyBytes = 0
    }
    return body.pipe(counted)
  }

  app.decorateRequest('bodyBytes', 0)
  app.decorateRequest('releaseBody', () => undefined)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    const isSmall = coding === undefined && Number(length ?? 0) <= smallBytes
    done(null, isSmall ? payload : count(request, reply, payload as Readable))
  })
}

/** Eight bodies at best, two at least. */
function roomFor(bodyLimit: number): number {
  return Math.max(2 * bodyLimit, Math.min(8 * bodyLimit, getHeapStatistics().heap_size_limit / 4))
}

function tooMuch(what: string): ServiceError {
  return new ServiceError('overloaded', `The bodies of ${what} take too much memory at the moment.`, { retryAfter })
}
