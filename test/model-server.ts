import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as tick, setTimeout as wait } from 'node:timers/promises'

/** What the scripted server answers to one request. Empty: a stream that says "ok". */
export interface ModelAnswer {
  /** Any other than 200 is answered with `body` alone. */
  status?: number
  headers?: Record<string, string>
  body?: string | object
  /** Pieces of `delta.content`, one chunk each. */
  text?: string | string[]
  /** Pieces of `delta.reasoning_content`, sent before the text. */
  reasoning?: string | string[]
  /** Tool calls; their arguments arrive piece by piece, those of several calls in turns. */
  calls?: ScriptedCall[]
  /** `null` ends the stream without a finish. Default: `tool_calls` with calls, else `stop`. */
  finish?: string | null
  usage?: { input: number; output: number; cached?: number; reasoning?: number }
  /** Further chunks, sent before the finish just as they are: an in-band `{error}`, for instance. */
  chunks?: unknown[]
  /** Whole wire, in place of all the above. */
  raw?: (string | Buffer)[]
  /** The answer begins when this resolves. */
  begins?: Promise<void>
  /** Milliseconds before the answer begins, and between its chunks. */
  delayMs?: number
  pauseMs?: number
  /** `together`: all in one write. A number: that many bytes a write, wherever it cuts. Default: a chunk a write. */
  writes?: 'together' | number
  crlf?: boolean
  /** Destroys the socket after so many writes. */
  breakAfter?: number
  /** Stays silent after so many writes (0: not even headers). */
  silentAfter?: number
}

export interface ScriptedCall {
  id?: string
  name: string
  arguments: string | string[]
}

/** An answer for each request in order (the last one repeats), or a function of the request. */
export type ModelScript = ModelAnswer | ModelAnswer[] | ((request: ModelServerRequest, index: number) => ModelAnswer)

export interface ModelServerRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  /** Whatever JSON was sent: any, since a test looks deep into it. */
  body: any
  /** Settles when the response is over: true where the client closed the connection before its end. */
  closedEarly: Promise<boolean>
}

export interface ModelServer {
  /** Base URL as an OpenAI client wants it, ending in `/v1`. */
  url: string
  requests: ModelServerRequest[]
  /** How many connections were made so far. */
  connections(): number
  close(): Promise<void>
}

/** A scripted model server on loopback that speaks OpenAI's chat completions, for tests and benchmarks. */
export async function startModelServer(script: ModelScript = {}): Promise<ModelServer> {
  const requests: ModelServerRequest[] = []
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const index = requests.length
    const request = toRequest(incoming, response)
    requests.push(request)
    request.body = parse(await readAll(incoming))
    await answer(response, pick(script, request, index))
  }
  const server = createServer((incoming, response) => void serve(incoming, response).catch(() => response.destroy()))
  let connections = 0
  server.on('connection', () => connections++)
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    connections: () => connections,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function toRequest({ method = '', url = '', headers }: IncomingMessage, response: ServerResponse): ModelServerRequest {
  const closedEarly = new Promise<boolean>((resolve) => response.once('close', () => resolve(!response.writableFinished)))
  return { method, url, headers, body: undefined, closedEarly }
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

function parse(body: string): unknown {
  return body === '' ? undefined : JSON.parse(body)
}

function pick(script: ModelScript, request: ModelServerRequest, index: number): ModelAnswer {
  if (typeof script === 'function') return script(request, index)
  return (Array.isArray(script) ? (script[index] ?? script.at(-1)) : script) ?? {}
}

async function answer(response: ServerResponse, scripted: ModelAnswer): Promise<void> {
  const { status = 200, headers, body, delayMs, pauseMs, breakAfter = Infinity, silentAfter = Infinity } = scripted
  await scripted.begins
  if (delayMs) await wait(delayMs)
  if (silentAfter === 0) return
  if (status !== 200 || body !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'object' ? JSON.stringify(body) : (body ?? ''))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
  // Headers alone must reach the client when the first chunk waits.
  if (pauseMs) response.flushHeaders()
  const writes = toWrites(scripted)
  for (const [index, write] of writes.entries()) {
    if (index >= silentAfter) return
    if (index >= breakAfter) return void response.destroy()
    if (pauseMs) await wait(pauseMs)
    else if (index > 0 && scripted.writes !== undefined) await tick()
    // What was written before a break must arrive.
    if (breakAfter < Infinity) await new Promise((resolve) => response.write(write, resolve))
    else if (!response.write(write)) await drained(response)
    if (response.destroyed) return
  }
  if (writes.length >= silentAfter) return
  if (writes.length >= breakAfter) return void response.destroy()
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

/** A benchmark answers thousands of requests with one answer: its wire is made once. */
const made = new WeakMap<ModelAnswer, Buffer[]>()

function toWrites(scripted: ModelAnswer): Buffer[] {
  const known = made.get(scripted)
  if (known) return known
  const lines = scripted.raw ?? toEvents(scripted)
  const pieces = lines.map((line) => (typeof line === 'string' ? Buffer.from(scripted.crlf ? line.replaceAll('\n', '\r\n') : line) : line))
  const writes = scripted.writes === undefined ? pieces : cut(Buffer.concat(pieces), scripted.writes)
  made.set(scripted, writes)
  return writes
}

function cut(wire: Buffer, writes: 'together' | number): Buffer[] {
  if (writes === 'together') return [wire]
  return Array.from({ length: Math.ceil(wire.length / writes) }, (_, index) => wire.subarray(index * writes, (index + 1) * writes))
}

function toEvents(scripted: ModelAnswer): string[] {
  const { calls = [], usage, chunks = [], finish = calls.length > 0 ? 'tool_calls' : 'stop' } = scripted
  const says = scripted.text ?? (scripted.reasoning === undefined && calls.length === 0 && chunks.length === 0 ? 'ok' : [])
  const deltas = [
    { role: 'assistant', content: '' },
    ...[scripted.reasoning ?? []].flat().map((piece) => ({ reasoning_content: piece })),
    ...[says].flat().map((piece) => ({ content: piece })),
    ...toCallDeltas(calls),
  ]
  const events: unknown[] = [...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])), ...chunks]
  if (finish !== null) events.push(chunk([{ index: 0, delta: {}, finish_reason: finish }]))
  if (usage) events.push({ ...chunk([]), usage: toUsage(usage) })
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
  return finish === null ? lines : [...lines, 'data: [DONE]\n\n']
}

function chunk(choices: unknown[]) {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted', choices }
}

function toCallDeltas(calls: ScriptedCall[]): object[] {
  const opened = calls.map((call, index) => ({
    tool_calls: [{ index, id: call.id ?? `call_${index}`, type: 'function', function: { name: call.name, arguments: '' } }],
  }))
  const pieces = calls.map((call) => [call.arguments].flat())
  const rounds = Math.max(0, ...pieces.map((own) => own.length))
  const filled = Array.from({ length: rounds }, (_, round) =>
    pieces.flatMap((own, index) => (round < own.length ? [{ tool_calls: [{ index, function: { arguments: own[round] } }] }] : [])),
  )
  return [...opened, ...filled.flat()]
}

function toUsage({ input, output, cached = 0, reasoning = 0 }: NonNullable<ModelAnswer['usage']>) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
