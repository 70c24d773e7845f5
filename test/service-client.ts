import assert from 'node:assert/strict'
import type { ErrorBody } from '../src/errors.ts'
import type { OpenApiCheck } from './openapi-check.ts'

/** One caller of a service, over HTTP as any client would do it. */
export interface Client {
  request(method: string, path: string, options?: { body?: unknown; headers?: Headers }): Promise<Reply>
  /** `POST /core/v1/chain`; a text is the one user message. */
  chat(body: string | object, headers?: Headers, signal?: AbortSignal): Promise<Reply>
  /** `POST /core/v1/chain_streaming`. */
  stream(body: string | object, headers?: Headers): Promise<OpenStream>
  /** `GET /core/v1/runs/{id}/stream`, behind an SSE id where given. */
  follow(requestId: string, lastEventId?: string): Promise<OpenStream>
  session(sessionId: string): Promise<Reply>
  run(requestId: string): Promise<Reply>
}

type Headers = Record<string, string>

export interface Reply {
  status: number
  headers: globalThis.Headers
  /** Parsed JSON; any, since a test looks deep into it. */
  body: any
  text: string
}

export interface Chunk {
  id: string
  token: string
  agent_step: string
  finish_reason: string
  usage: { costAttribute: string; usage: number; unit: string }[]
  step?: { tool: string; status: string; output: unknown }
  approval_required?: { request_id: string; calls: { tool_call_id: string; tool: string; tool_input: unknown }[] }
  error?: ErrorBody
}

export interface StreamEvent {
  /** The SSE `id:`. */
  id: string
  chunk: Chunk
}

/** A response that is read event by event. */
export interface OpenStream {
  status: number
  headers: globalThis.Headers
  /** Of a response that is no stream. */
  body: any
  /** Undefined behind the last. */
  next(): Promise<StreamEvent | undefined>
  /** All that is left. */
  rest(): Promise<StreamEvent[]>
  /** Goes away, as a client that is closed. */
  leave(): void
}

/** `check` finds what a reply has that the OpenAPI document does not tell. */
export function createClient(url: string, key: string, check?: OpenApiCheck): Client {
  const own = { 'x-service-access': key }

  async function request(method: string, path: string, { body, headers, signal }: RequestOptions = {}): Promise<Reply> {
    const response = await fetch(url + path, { method, ...toInit(body, { ...own, ...headers }), ...(signal && { signal }) })
    const text = await response.text()
    const reply = { status: response.status, headers: response.headers, text, body: parse(text) }
    if (check) assert.deepEqual(check.reply(method, path, reply), [], 'the OpenAPI document tells of it')
    return reply
  }

  return {
    request,
    chat: (body, headers, signal) =>
      request('POST', '/core/v1/chain', { body: toChatBody(body), ...(headers && { headers }), ...(signal && { signal }) }),
    stream: (body, headers) =>
      openStream(`${url}/core/v1/chain_streaming`, { method: 'POST', ...toInit(toChatBody(body), { ...own, ...headers }) }, check),
    follow: (requestId, lastEventId) => {
      const headers = lastEventId === undefined ? own : { ...own, 'last-event-id': lastEventId }
      return openStream(`${url}/core/v1/runs/${requestId}/stream`, { headers }, check)
    },
    session: (sessionId) => request('GET', `/core/v1/sessions/${sessionId}`),
    run: (requestId) => request('GET', `/core/v1/runs/${requestId}`),
  }
}

interface RequestOptions {
  body?: unknown
  headers?: Headers
  signal?: AbortSignal
}

/** A string is sent as it is, so that a test can send what is no JSON. */
function toInit(body: unknown, headers: Headers): { headers: Headers; body?: string } {
  if (body === undefined) return { headers }
  return { headers: { 'content-type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

function toChatBody(body: string | object): object {
  return typeof body === 'string' ? { messages: [{ role: 'user', content: body }] } : body
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function openStream(address: string, init: RequestInit, check?: OpenApiCheck): Promise<OpenStream> {
  const leaving = new AbortController()
  const response = await fetch(address, { ...init, signal: leaving.signal })
  const { status, headers } = response
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const text = isStream ? '' : await response.text()
  const body = parse(text)
  const path = new URL(address).pathname
  if (check)
    assert.deepEqual(check.reply(init.method ?? 'GET', path, { status, headers, text, body }), [], 'the OpenAPI document tells of it')
  const events = isStream && response.body ? readEvents(response.body) : none()
  const next = async () => {
    const event = (await events.next()).value ?? undefined
    if (check && event) assert.deepEqual(check.chunk(event.chunk), [], 'the OpenAPI document tells of it')
    return event
  }
  return {
    status,
    headers,
    body,
    next,
    async rest() {
      const left: StreamEvent[] = []
      for (let event = await next(); event; event = await next()) left.push(event)
      return left
    },
    leave: () => leaving.abort(),
  }
}

async function* none(): AsyncGenerator<StreamEvent, void> {}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) if (!block.startsWith(':')) yield toEvent(block)
  }
  if (text !== '') throw new Error(`The stream ends inside of an event: ${JSON.stringify(text)}`)
}

function toEvent(block: string): StreamEvent {
  const [, id, data] = /^id: (.+)\ndata: (.+)$/.exec(block) ?? []
  if (id === undefined || data === undefined) throw new Error(`Not an event of this service: ${JSON.stringify(block)}`)
  return { id, chunk: JSON.parse(data) as Chunk }
}

/** `body.output` by its definition: the `answer` tokens after the last chunk with another label. */
export function outputOf(events: readonly StreamEvent[]): string {
  const from = events.findLastIndex(({ chunk }) => chunk.agent_step !== 'answer') + 1
  return events
    .slice(from)
    .map(({ chunk }) => chunk.token)
    .join('')
}
