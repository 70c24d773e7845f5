import { EventSourceParserStream } from 'eventsource-parser/stream'
import { fieldsOf, isObject } from '../../json/shape.ts'

type Fetch = typeof globalThis.fetch

/** Changes the data of an event of the wire. Returns the same text where nothing is to be changed, and several where events are missing. */
type Mender = (data: string) => string[]

/** Limit of an event in characters: a picture in base64 is one event. */
const maxEvent = 64 * 1024 * 1024

/** Wraps a `fetch`, so that a package can read what a provider really sends. `createMender` is called for each stream. */
export function mendEvents(fetch: Fetch, createMender: () => Mender): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const isStream = response.ok && response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!isStream || !response.body) return response
    const mend = createMender()
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ maxBufferSize: maxEvent }))
      .pipeThrough(
        new TransformStream<{ data: string }, string>({
          transform({ data }, controller) {
            for (const mended of mend(data)) controller.enqueue(`data: ${mended.replaceAll('\n', '\ndata: ')}\n\n`)
          },
        }),
      )
    return new Response(body.pipeThrough(new TextEncoderStream()), { status: response.status, headers: response.headers })
  }
}

/** Gemini leaves out a count of zero, for instance that of a video without sound; the package (4.0) demands the count. */
export const createCountMender = (): Mender => (data) => {
  if (!data.includes('TokensDetails"')) return [data]
  const event = toEvent(data)
  const counts = Object.values(fieldsOf(event['usageMetadata'])).flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []))
  const incomplete = counts.filter((count) => count['tokenCount'] === undefined)
  for (const count of incomplete) count['tokenCount'] = 0
  return [incomplete.length > 0 ? JSON.stringify(event) : data]
}

/**
 * After a pause Claude sends the result of a call that stands in the part before the pause. The package (4.0.105) reads a result of a remote
 * server behind its call only, so the begin of the call is repeated.
 */
export const createCallMender = (): Mender => {
  const begunCalls = new Set<unknown>()
  return (data) => {
    if (!data.includes('"mcp_tool_')) return [data]
    const { type, index, content_block: block } = toEvent(data)
    const { type: kind, id, tool_use_id: called } = fieldsOf(block)
    if (kind === 'mcp_tool_use') begunCalls.add(id)
    if (type !== 'content_block_start' || kind !== 'mcp_tool_result' || begunCalls.has(called)) return [data]
    const call = { type: 'mcp_tool_use', id: called, name: 'repeated', server_name: 'repeated', input: {} }
    return [JSON.stringify({ type, index, content_block: call }), data]
  }
}

/** Data that is no JSON is left to the package, which names the fault. */
function toEvent(data: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(data))
  } catch {
    return {}
  }
}
