import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid, ServiceError, type Fault } from '../errors.ts'
import { JsonScan } from './json-scan.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route takes CloudEvents (HTTP binding 1.0.2): structured, binary and in batches. */
    takesEvents?: boolean
  }
}

/** Structured mode. */
export const eventType = 'application/cloudevents+json'
export const batchType = 'application/cloudevents-batch+json'

/** Attributes of an event that are read; extensions are ignored. */
const attributes = ['specversion', 'type', 'source', 'id', 'time'] as const

/** Whether a body is an event, or several, by its content type. */
export function isCloudEvent({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/cloudevents') ?? false
}

export function isBatch({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith(batchType) ?? false
}

/** Whether the attributes of an event stand in headers, and the body is its data alone. */
export function isBinary(request: FastifyRequest): boolean {
  return !isCloudEvent(request) && attributes.some((name) => request.headers[`ce-${name}`] !== undefined)
}

/** Reads data that was sent as base64. One for each request: the values of all its events count together. */
export type DecodeData = (bytes: Buffer, place: Fault['loc']) => unknown

export function createDecodeData(app: FastifyInstance, request: FastifyRequest): DecodeData {
  const scan = new JsonScan()
  const parse = app.getDefaultJsonParser('error', 'error')
  return (bytes, place) => {
    scan.begin()
    const refusal = scan.add(bytes)
    if (refusal) throw refusal.code === 'validation' ? invalid(place, 'is nested too deeply') : refusal
    let data: unknown
    // Fastify's parser is synchronous, whatever its type says.
    void parse(request, bytes.toString('utf8'), (error, value: unknown) => {
      if (error) throw invalid(place, 'must be JSON')
      data = value
    })
    return data
  }
}

/** Gives an event in binary mode the form of a structured one, before anything looks into the body. */
export function acceptCloudEvents(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    if (!request.routeOptions.config?.takesEvents) return done()
    try {
      if (isBinary(request)) request.body = toStructured(request)
      else if (!isBatch(request)) request.body = withData(request.body, ['body'], createDecodeData(app, request))
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function toStructured({ headers, body }: FastifyRequest): object {
  const named = attributes.flatMap((name) => {
    const value = headers[`ce-${name}`]
    return value === undefined ? [] : [[name, decodeHeader(name, String(value))]]
  })
  return { ...Object.fromEntries(named), data: body }
}

/** Quotes are taken off, then one round of percent-encoding (HTTP binding, 3.1.3.2). */
function decodeHeader(name: string, value: string): string {
  const text = /^".*"$/s.test(value) ? value.slice(1, -1).replace(/\\(.)/gs, '$1') : value
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent)
  } catch {
    throw invalid(['header', `ce-${name}`], 'must be percent-encoded UTF-8')
  }
}

/** An event whose data stands in `data`. */
export function withData(event: unknown, at: Fault['loc'], decode: DecodeData): unknown {
  if (typeof event !== 'object' || event === null) return event
  const { data_base64: encoded, ...rest } = event as Record<string, unknown>
  if (encoded === undefined || encoded === null) return event
  const place = [...at, 'data_base64']
  if (rest['data'] !== undefined) throw invalid(place, 'must not stand beside data')
  if (typeof encoded !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw invalid(place, 'must be base64')
  return { ...rest, data: decode(Buffer.from(encoded, 'base64'), place) }
}

/** The same faults where they stand in the request: attributes in binary mode in headers, events of a batch at their place. */
export function relocate(error: ServiceError, move: (loc: Fault['loc']) => Fault['loc']): ServiceError {
  const faults = error.faults.map((fault) => ({ ...fault, loc: move(fault.loc) }))
  const [first] = faults
  return first ? new ServiceError(error.code, `${first.loc.join('.')}: ${first.msg}`, { faults }) : error
}

/** `body.id` of the structured form is `header.ce-id` in binary mode, and `body.data` the body. */
export function toBinaryLocation([part, name, ...rest]: Fault['loc']): Fault['loc'] {
  if (part !== 'body' || name === undefined) return [part!, ...(name === undefined ? [] : [name]), ...rest]
  return name === 'data' ? ['body', ...rest] : ['header', `ce-${name}`]
}
