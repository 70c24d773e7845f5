import type { AssistantMessage, JsonSchema, Message } from './messages.ts'

/** Port: how the agent asks a language model for its next message. Adapters live in models/. */
export interface Model {
  /** The name under which usage is reported, such as `gpt-5-mini`. */
  readonly name: string
  /** Whether it takes images. */
  readonly seesImages: boolean
  /** Where its requests go; absent of a model without a server. */
  readonly server?: ModelServer | undefined
  /**
   * Yields text as it arrives and returns the whole message once the model said that it has finished.
   * Every expected failure is a `ModelError`; an abort of `signal` throws whatever the adapter likes.
   * Leaving the generator closes the connection.
   */
  reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply>
}

export interface ModelServer {
  address: string
  port: number
}

/** Port: follows one model call, attempt by attempt. Must not throw. */
export interface ModelCallTrace {
  /** An attempt at a model begins. */
  attempt(model: Model, request: ModelRequest): ModelAttempt
}

export interface ModelAttempt {
  /** W3C `traceparent` that goes to the model's server. */
  traceparent: string | undefined
  /** Called once: with the reply, the error, or neither where the caller has left. */
  end(outcome: { reply?: ModelReply; error?: ModelError }): void
}

export interface ModelRequest {
  /** The system prompt; empty for none. */
  system: string
  messages: readonly Message[]
  /** Tools that the model may call; empty for none. */
  tools: readonly ToolOffer[]
  /** Absent: nobody follows the call. */
  trace?: ModelCallTrace
  /** W3C `traceparent` for the model's server. */
  traceparent?: string
}

/** What a model is told of a tool. */
export interface ToolOffer {
  name: string
  description: string
  schema: JsonSchema
}

export type ModelEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** What was yielded so far of this reply is void: another attempt begins. */
  | { type: 'retrying' }

/** A call as the model asked for it; the loop gives it an id. */
export interface RequestedCall {
  name: string
  /** JSON text just as the model wrote it; may be malformed. */
  arguments: string
}

export interface ModelReply {
  text: string
  reasoning: string
  toolCalls: RequestedCall[]
  finish: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  usage: ModelUsage
  vendor?: AssistantMessage['vendor']
}

/** Tokens of one call, as the provider counted them. `cachedInput` is part of `input`, `reasoning` part of `output`. */
export interface ModelUsage {
  model: string
  input: number
  output: number
  cachedInput: number
  reasoning: number
}

export type ModelErrorCode =
  /** The provider is busy or over a limit: ask again later. */
  | 'rate_limited'
  /** 5xx, a refused or broken connection, a stream that ended without a finish, silence. */
  | 'unavailable'
  /** 400: this request will never be taken. */
  | 'refused'
  /** 401, 403: the key is wrong. */
  | 'unauthorized'

/** The message names what failed and never holds a key, a URL's credentials or a provider's internals. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  /** What the provider asked us to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(code: ModelErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryAfterMs = options.retryAfterMs
  }

  get isRetryable(): boolean {
    return this.code === 'rate_limited' || this.code === 'unavailable'
  }
}
