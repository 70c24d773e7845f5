import type { Model, ModelEvent, ModelReply, ModelRequest } from '../../agent/model.ts'
import { ReplyBuilder } from './reply.ts'
import { toRequestBody, type RequestSettings } from './request.ts'
import type { Connections } from '../connections.ts'
import { toServer } from '../wire-address.ts'
import { EventStream, type Timeouts } from './event-stream.ts'
import type { Origin } from '../failures.ts'

export interface ChatCompletionsOptions extends RequestSettings {
  seesImages: boolean
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

  async function* reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
    signal.throwIfAborted()
    const pool = await connections.pool(url.origin, timeouts.connectMs)
    signal.throwIfAborted()
    const builder = new ReplyBuilder(model, origin)
    const stream = new EventStream(origin, timeouts, builder)
    const leave = () => stream.leave()
    signal.addEventListener('abort', leave)
    try {
      stream.open(pool, { path, headers: withTrace(request), body: toRequestBody(options, request) })
      while (!builder.isDone && !stream.isOver) {
        await stream.change()
        signal.throwIfAborted()
        for (let event = builder.take(); event; event = builder.take()) yield event
      }
      signal.throwIfAborted()
      builder.end()
      for (let event = builder.take(); event; event = builder.take()) yield event
      // After the finish reason only the usage can be missing, so a failure is ignored.
      if (stream.failure && !builder.hasFinish) throw stream.failure
      return builder.toReply()
    } finally {
      signal.removeEventListener('abort', leave)
      if (builder.isDone) stream.drain()
      else stream.leave()
    }
  }

  return { name: model, seesImages: options.seesImages, server: toServer(url), reply }
}
