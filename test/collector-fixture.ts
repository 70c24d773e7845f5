import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

/** A span as it came over the wire (OTLP in JSON), its attributes as an object. */
export interface CollectedSpan {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  kind: number
  /** Milliseconds. */
  took: number
  status: { code?: number; message?: string }
  attributes: Record<string, unknown>
}

export interface Collector {
  url: string
  spans: CollectedSpan[]
  /** Of the resource that the spans came from. */
  resource: Record<string, unknown>
  named(name: string): CollectedSpan[]
}

interface Value {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values: Value[] }
}

interface Attribute {
  key: string
  value: Value
}

interface Export {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'took'> & {
        attributes: Attribute[]
        startTimeUnixNano: string
        endTimeUnixNano: string
      })[]
    }[]
  }[]
}

/** A collector of traces: OTLP over HTTP, on loopback. */
export async function startCollector(t: Pick<TestContext, 'after'>): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], resource: {}, named: (name) => collector.spans.filter((span) => span.name === name) }
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      if (request.url !== '/v1/traces') throw new Error(`Sent to ${request.url}`)
      for (const { resource, scopeSpans } of (body as Export).resourceSpans) {
        collector.resource = toObject(resource.attributes)
        for (const { spans } of scopeSpans) collector.spans.push(...spans.map(toSpan))
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

function toSpan(span: Export['resourceSpans'][number]['scopeSpans'][number]['spans'][number]): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, kind, status, attributes, startTimeUnixNano, endTimeUnixNano } = span
  const took = Number((BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1_000_000n)
  return { traceId, spanId, parentSpanId: parentSpanId || undefined, name, kind, status, took, attributes: toObject(attributes) }
}

function toObject(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toPlain(value)]))
}

function toPlain({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (arrayValue) return arrayValue.values.map(toPlain)
  return stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue))
}
