import type { Pool } from 'undici'
import type { Model, ModelError, ModelReply, ModelRequest, ModelSink } from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'
import { ReplyBuilder } from './reply.ts'
import { findQuirk } from './dialects.ts'
import { formOf, toRequestBody, type RequestSettings, type ServerForm } from './request.ts'
import type { Connections } from '../connections.ts'
import { withRealNames } from '../property-names.ts'
import { toServer } from '../model-access.ts'
import { EventStream, type Timeouts } from './event-stream.ts'
import type { Origin } from '../failures.ts'

export interface ChatCompletionsOptions extends RequestSettings {
  seesImages: boolean
  /** Whether the model reads files of a MIME type; absent: the model reads none. */
  readsFiles?: (mediaType: string) => boolean
  /** Address of the endpoint, including its query. */
  url: URL
  /** Headers with lower-case names. */
  headers: Readonly<Record<string, string>>
  timeouts: Timeouts
  origin: Origin
  connections: Connections
}

/** Creates a `Model` on OpenAI's chat-completions API, always streamed. Text of the same socket read becomes a single event. */
export function createChatCompletionsModel(options: ChatCompletionsOptions): Model {
  const { model, url, origin, timeouts, connections } = options
  const headers = ['content-type', 'application/json', 'accept', 'text/event-stream', ...Object.entries(options.headers).flat()]
  const path = url.pathname + url.search

  /** Adds `traceparent`, unless the configuration sets this header. */
  function withTrace({ traceparent }: ModelRequest): string[] {
    return traceparent === undefined || 'traceparent' in options.headers ? headers : [...headers, 'traceparent', traceparent]
  }

  /** What is known of the server. Refusals add to it. */
  let form: ServerForm = formOf(options.provider, url.hostname)
  const settings = { ...options, speechFormat: speechFormatOf(options) }

  function start(pool: Pool, request: ModelRequest) {
    const builder = new ReplyBuilder(settings, origin)
    const stream = new EventStream(origin, timeouts, builder)
    stream.open(pool, { path, headers: withTrace(request), body: toRequestBody(options, request, form) })
    return { builder, stream, form }
  }

  /** Whether the refused request can be made so that the server takes it. */
  function learn(refusal: ModelError, sent: ServerForm): boolean {
    const quirk = findQuirk(sent.quirks, refusal)
    if (quirk) form = { ...form, quirks: { ...form.quirks, [quirk]: true } }
    return quirk !== undefined
  }

  async function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    signal.throwIfAborted()
    const pool = await connections.pool(url.origin, timeouts.connectMs)
    signal.throwIfAborted()
    let exchange = start(pool, request)
    const leave = () => exchange.stream.leave()
    signal.addEventListener('abort', leave)
    try {
      for (;;) {
        const { builder, stream } = exchange
        while (!builder.isDone && !stream.isOver) {
          await stream.change()
          signal.throwIfAborted()
          await passAll(builder, sink)
        }
        signal.throwIfAborted()
        if (stream.failure && !builder.hasBegun && learn(stream.failure, exchange.form)) {
          exchange = start(pool, request)
          continue
        }
        builder.end()
        await passAll(builder, sink)
        // After the finish reason only the usage can be missing, so a failure is ignored.
        if (stream.failure && !builder.isWhole) throw stream.failure
        return exchange.form.quirks.needsPlainNames ? withRealNames(builder.toReply(), request.tools) : builder.toReply()
      }
    } finally {
      signal.removeEventListener('abort', leave)
      if (exchange.builder.isDone) exchange.stream.drain()
      else exchange.stream.leave()
    }
  }

  const { readsFiles } = options
  return { name: model, seesImages: options.seesImages, ...(readsFiles && { readsFiles }), server: toServer(url), reply }
}

/** Passes the events that have arrived. While the sink is busy, further text is merged, and much text pauses the socket. */
async function passAll(builder: ReplyBuilder, sink: ModelSink): Promise<void> {
  for (let event = builder.take(); event; event = builder.take()) {
    const storing = sink(event)
    if (storing) await storing
  }
}

/** The format in which the configuration asks a model to speak. */
function speechFormatOf({ extraBody }: RequestSettings): string | undefined {
  const { format } = fieldsOf(extraBody?.['audio'])
  return typeof format === 'string' ? format : undefined
}
