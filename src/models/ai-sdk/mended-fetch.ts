import { fieldsOf, isObject } from '../../json/shape.ts'
import { withItems } from './kept-parts.ts'
import { EventSourceParserStream } from 'eventsource-parser/stream'

type Fetch = typeof globalThis.fetch

export interface ResponsesAddress {
  /** Address of the endpoint, including its query. */
  url: URL
  /** Headers with lower-case names, the key among them. */
  headers: Readonly<Record<string, string>>
  /** Fields of agent.yaml for every request. */
  extraBody: Readonly<Record<string, unknown>> | undefined
}

/**
 * Creates the `fetch` of a package for one server of the responses API: with the address and the headers of agent.yaml, in place of those of
 * the package. Where the server refuses a field that not every model and account has, the request is made again without the field, and so is
 * each request after it.
 */
export function createResponsesFetch(fetch: Fetch, { url, headers, extraBody }: ResponsesAddress): Fetch {
  /** Fields that the server has refused. */
  const refused = new Set<RefusableField>()

  return async (_, init = {}) => {
    const sent = new Headers(init.headers)
    sent.delete('authorization')
    const whole = withItems(init.body)
    for (const [name, value] of Object.entries(headers)) sent.set(name, value)
    for (;;) {
      const response = await fetch(url, { ...init, headers: sent, body: toBody(whole, extraBody, refused) })
      if (response.status !== 400) return response
      // The text of a refusal is at most `maxErrorBytes` long.
      const refusal = await response.text()
      const field = refusables.find((candidate) => !refused.has(candidate) && candidate.words.test(refusal.slice(0, maxRefusal)))
      if (!field) return new Response(refusal, { status: response.status, headers: response.headers })
      refused.add(field)
    }
  }
}

const maxRefusal = 2000

/** The body is parsed only where something in it changes. */
function toBody(
  body: RequestInit['body'],
  extra: ResponsesAddress['extraBody'],
  refused: ReadonlySet<RefusableField>,
): RequestInit['body'] {
  if (typeof body !== 'string' || (!extra && refused.size === 0)) return body
  const fields = merge(extra, JSON.parse(body) as Record<string, unknown>)
  for (const { remove } of refused) remove(fields)
  return JSON.stringify(fields)
}

/** Fields of the service take precedence. Objects such as `text` have fields of both. */
function merge(extra: Readonly<Record<string, unknown>> = {}, own: Record<string, unknown>): Record<string, unknown> {
  const shared = Object.keys(own).filter((name) => isObject(extra[name]) && isObject(own[name]))
  return { ...extra, ...own, ...Object.fromEntries(shared.map((name) => [name, { ...fieldsOf(extra[name]), ...fieldsOf(own[name]) }])) }
}

/** A field that some models and accounts do not have. */
interface RefusableField {
  /** The words of its refusal. */
  words: RegExp
  remove(body: Record<string, unknown>): void
}

const refusables: readonly RefusableField[] = [
  // An organisation that is not verified gets no summaries.
  { words: /reasoning[._ ]?summar/i, remove: ({ reasoning }) => removeFrom(reasoning, 'summary') },
  { words: /encrypted[ _]content|["'`]include["'`]/i, remove: (body) => removeFrom(body, 'include') },
  {
    words: /reasoning[._ ]?effort|["'`]reasoning(?:\.effort)?["'`]/i,
    remove(body) {
      removeFrom(body, 'reasoning')
      removeFrom(body, 'include')
    },
  },
  { words: /["'`]temperature["'`]/i, remove: (body) => removeFrom(body, 'temperature') },
  { words: /["'`]top_p["'`]/i, remove: (body) => removeFrom(body, 'top_p') },
  { words: /["'`]parallel_tool_calls["'`]/i, remove: (body) => removeFrom(body, 'parallel_tool_calls') },
]

function removeFrom(value: unknown, name: string): void {
  if (isObject(value)) delete value[name]
}

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
