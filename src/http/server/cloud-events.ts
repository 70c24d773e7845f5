import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid, ServiceError, type Fault } from '../../errors.ts'
import { JsonScan } from './json-scan.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route accepts CloudEvents (HTTP binding 1.0.2) in structured, binary and batched mode. */
    takesEvents?: boolean
  }
}

/** Content types of structured and of batched mode. */
export const eventType = 'application/cloudevents+json'
export const batchType = 'application/cloudevents-batch+json'

/** The `bodyTypes` of routes that take events. */
export const eventTypes = { [eventType]: 'json', [batchType]: 'json' } as const

/** The attributes that are read; extension attributes are ignored. */
const attributes = ['specversion', 'type', 'source', 'id', 'time'] as const

/** Whether the content type says that the body is an event or a batch of events. */
function isCloudEvent({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/cloudevents') ?? false
}

export function isBatch({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith(batchType) ?? false
}

/** Whether the event is in binary mode: attributes in headers, the body is `data`. */
export function isBinary(request: FastifyRequest): boolean {
  return !isCloudEvent(request) && attributes.some((name) => request.headers[`ce-${name}`] !== undefined)
}

/** Parses decoded `data_base64` as JSON. `loc` names the field in errors. */
export type DecodeData = (bytes: Buffer, loc: Fault['loc']) => unknown

/** Creates the decoder of one request. The limit of JSON values holds for all of its events together. */
export function createDecodeData(app: FastifyInstance, request: FastifyRequest): DecodeData {
  const scan = new JsonScan()
  const parse = app.getDefaultJsonParser('error', 'error')
  return (bytes, loc) => {
    scan.begin()
    const refusal = scan.add(bytes)
    if (refusal) throw refusal.code === 'validation' ? invalid(loc, 'is nested too deeply') : refusal
    let data: unknown
    // Fastify's parser calls back synchronously, although its type also allows a promise.
    void parse(request, bytes.toString('utf8'), (error, value: unknown) => {
      if (error) throw invalid(loc, 'must be JSON')
      data = value
    })
    return data
  }
}

/** Converts an event in binary mode, or its `data_base64`, to a structured event, before validation. */
export function convertCloudEvent(app: FastifyInstance, request: FastifyRequest, done: (error?: Error) => void): void {
  try {
    if (isBinary(request)) request.body = toStructured(request)
    else if (!isBatch(request)) request.body = withData(request.body, ['body'], createDecodeData(app, request))
    done()
  } catch (error) {
    done(error as Error)
  }
}

function toStructured({ headers, body }: FastifyRequest): object {
  const values = attributes.flatMap((name) => {
    const value = headers[`ce-${name}`]
    return value === undefined ? [] : [[name, decodeHeader(name, String(value))]]
  })
  return { ...Object.fromEntries(values), data: body }
}

/** Removes quotes, then one level of percent-encoding (HTTP binding, 3.1.3.2). */
function decodeHeader(name: string, value: string): string {
  const text = /^".*"$/s.test(value) ? value.slice(1, -1).replace(/\\(.)/gs, '$1') : value
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent)
  } catch {
    throw invalid(['header', `ce-${name}`], 'must be percent-encoded UTF-8')
  }
}

/** Decodes `data_base64` of an event into `data`. */
export function withData(event: unknown, at: Fault['loc'], decode: DecodeData): unknown {
  if (typeof event !== 'object' || event === null) return event
  const { data_base64: encoded, ...rest } = event as Record<string, unknown>
  if (encoded === undefined || encoded === null) return event
  const loc = [...at, 'data_base64']
  if (rest['data'] !== undefined) throw invalid(loc, 'must not stand beside data')
  if (typeof encoded !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw invalid(loc, 'must be base64')
  return { ...rest, data: decode(Buffer.from(encoded, 'base64'), loc) }
}

/** Copies an error with other locations of its faults: headers in binary mode, the index of the event in a batch. */
export function relocate(error: ServiceError, move: (loc: Fault['loc']) => Fault['loc']): ServiceError {
  const faults = error.faults.map((fault) => ({ ...fault, loc: move(fault.loc) }))
  const [first] = faults
  return first ? new ServiceError(error.code, `${first.loc.join('.')}: ${first.msg}`, { faults }) : error
}

/** Maps the location in a structured event to binary mode: `body.id` becomes `header.ce-id`, `body.data` becomes `body`. */
export function toBinaryLocation([part, name, ...rest]: Fault['loc']): Fault['loc'] {
  if (part !== 'body' || name === undefined) return [part!, ...(name === undefined ? [] : [name]), ...rest]
  return name === 'data' ? ['body', ...rest] : ['header', `ce-${name}`]
}
