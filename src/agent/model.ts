import type { AssistantMessage, JsonObject, JsonSchema, JsonValue, Message, ModelSource } from './messages.ts'

export type { ModelSource }

/** Port: how the agent asks a language model for its next message. Adapters live in models/. */
export interface Model {
  /** The name under which usage is reported, such as `gpt-5-mini`. */
  readonly name: string
  /** The place in agent.yaml, of a model whose name belongs to a model before it; absent: the name is enough to find its prices. */
  readonly place?: string
  /** True for a model with vision. */
  readonly seesImages: boolean
  /** Whether the model reads files of a MIME type, such as `application/pdf` or `audio/wav`; absent: the model reads none. */
  readsFiles?(mediaType: string): boolean
  /** The configured lengths of an answer and of reasoning, in tokens; absent: as the provider decides. */
  readonly maxOutputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  /** The most tokens of reasoning that come on top of `maxOutputTokens`; absent: the wanted reasoning tokens. */
  reasoningBeside?(options: ModelOptions | undefined): number
  /** The server of the model's requests; absent for a model without a server. */
  readonly server?: ModelServer | undefined
  /**
   * Passes text to `sink` as it arrives, and resolves to the whole message once the model has finished. Every expected
   * failure is a `ModelError`; an abort of `signal` may throw any error. An abort and a failure of the sink close the
   * connection, and the failure of the sink is thrown.
   */
  reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply>
}

/**
 * Takes the events of a model, one at a time. A promise is back-pressure: the model passes the next event when the promise
 * has resolved, and reads no more than a buffer meanwhile.
 */
export type ModelSink = (event: ModelEvent) => Promise<void> | undefined

/** For a caller that reads the whole message only. */
export const ignoreEvents: ModelSink = () => undefined

export interface ModelServer {
  address: string
  port: number
}

/** Port: traces one model call, attempt by attempt. Must not throw. */
export interface ModelCallTrace {
  /** Called when an attempt at a model begins. `held`: the reservation, for an agent with budgets. */
  attempt(model: Model, request: ModelRequest, held?: PaidAmount): ModelAttempt
  /** Called with the error of a meter for an attempt without payment. Absent: no record is kept. */
  refused?(model: Model, error: unknown): void
}

/** Cost of an attempt: USD, 0 for a model without prices, and tokens. */
export interface PaidAmount {
  usd: number
  tokens: number
}

export interface ModelAttempt {
  /** W3C `traceparent` for the model's server. */
  traceparent: string | undefined
  /** Called once at most: when the first text of the reply has arrived. */
  onFirstEvent?(): void
  /** Called once: with the reply, the error, or neither when the consumer left early. `settled`: the cost, for an agent with budgets. */
  end(outcome: { reply?: ModelReply; error?: ModelError }, settled?: PaidAmount): void
}

/** Port: pays for the attempts of model calls. Absent where nothing limits what calls may cost. */
export interface ModelMeter {
  /**
   * Holds the most that an attempt may cost. Rejects with `BudgetSpent` where a budget cannot pay, and with the error of a database that does
   * not answer: then the attempt must not be made.
   */
  hold(model: Model, request: ModelRequest): Promise<PaidAttempt>
  /** The same for texts that an embedding model turns into vectors. */
  holdTexts(model: Pick<Model, 'name' | 'place'>, texts: readonly string[]): Promise<PaidTexts>
}

export interface PaidAttempt {
  /** The request to send: the length of its answer is what was paid for. */
  request: ModelRequest
  held: PaidAmount
  /**
   * Called once, when the attempt is over: with the reply or the error, or neither after an abort. `received`: bytes of text that arrived.
   * Returns the cost of the attempt. Must not throw.
   */
  end(outcome: { reply?: ModelReply; error?: ModelError }, received: number): PaidAmount
}

export interface PaidTexts {
  /** Called once, with the tokens that the provider counted; undefined where the attempt failed: `isFree` where the provider did nothing. */
  end(tokens: number | undefined, isFree?: boolean): void
}

export interface ModelRequest {
  /** The system prompt; empty for none. */
  system: string
  messages: readonly Message[]
  /** The tools on offer to the model; empty for none. */
  tools: readonly ToolOffer[]
  /**
   * Tools that the model may not use now, though other requests of the run offer the tools. A provider that can be told so is sent the
   * tools too: the request then begins as the others, and some providers take earlier calls beside tools only. Absent for none.
   */
  idleTools?: readonly ToolOffer[]
  /**
   * The schema of the answer, if the reply may be one. Asks the provider for its native form, as far as that leaves the
   * tools usable; the system prompt describes the schema in any case.
   */
  responseSchema?: JsonSchema
  /** Replaces configured values of the model for this call; absent: none. */
  options?: ModelOptions
  /** Absent: the call is not traced. */
  trace?: ModelCallTrace
  /** Absent: nothing limits what the call may cost. */
  meter?: ModelMeter
  /** W3C `traceparent` for the model's server. */
  traceparent?: string
  /** Receives, when a call breaks off, the number of characters that have arrived: those of tool calls too, which are no events. Absent: nothing pays. */
  onBroken?: (characters: number) => void
}

/** How the caller of a run wants its model calls. An adapter gives each option its effect. */
export interface ModelOptions {
  /** `required` and a tool's name bind the model until the first tool call of the run. Default: `auto`. */
  toolChoice?: ToolChoice
  /** False: at most one tool call in a turn. */
  parallelToolCalls?: boolean
  temperature?: number
  topP?: number
  maxOutputTokens?: number
  /** Texts at which the model stops; they are not part of its answer. */
  stop?: readonly string[]
  seed?: number
  presencePenalty?: number
  frequencyPenalty?: number
  reasoningEffort?: ReasoningEffort
  /** The most tokens of reasoning; takes precedence over an effort. */
  reasoningTokens?: number
  /** Whether the provider sends a summary of the reasoning. */
  reasoningSummary?: boolean
}

/** How much a model thinks before it answers. */
export type ReasoningEffort = (typeof reasoningEfforts)[number]

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * `auto`: the model decides. `none`: no client tools are offered; the agent keeps its own. `required`: the model must call
 * a client tool. `name`: the model must call this client tool.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

/** Whether a choice leaves the model no answer but a call. Models of several providers cannot think then. */
export function isDemand(choice: ToolChoice | undefined): choice is Exclude<ToolChoice, 'auto' | 'none'> {
  return choice !== undefined && choice !== 'auto' && choice !== 'none'
}

/** A tool as offered to a model. */
export interface ToolOffer {
  name: string
  description: string
  schema: JsonSchema
  /** `write`: the tool may change something. */
  effect: 'read' | 'write'
  /** True where a person or the client decides on each call before the call is made. */
  isHeld?: true
  /** Set on a tool that the provider of the model runs; a model without this tool is not offered it. */
  provider?: ProviderTool
}

/** A tool that runs at the provider of the model. */
export interface ProviderTool {
  /** The kind of the tool, such as `web_search`; the adapter translates it. */
  tool: string
  /** Settings of the kind. */
  config: JsonObject
}

export type ModelEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The text passed so far is void: another attempt begins. */
  | { type: 'retrying' }
  /** The provider runs a tool of its own; both events of a call have the same `call`, the end with its whole input. */
  | { type: 'call_start'; call: ProviderCall }
  | { type: 'call_end'; call: ProviderCall; output: JsonValue; isError: boolean }

/** A call of a tool that the provider runs. */
export interface ProviderCall {
  /** The provider's id, unique in the reply. */
  id: string
  /** The name of the offer. */
  name: string
  input: JsonValue
}

/** A call as the model requested it. */
export interface RequestedCall {
  /** The id of the call in a recording; absent: the loop makes an id. */
  id?: string
  name: string
  /** JSON text exactly as the model wrote it; may be malformed. */
  arguments: string
}

export interface ModelReply {
  text: string
  reasoning: string
  toolCalls: RequestedCall[]
  finish: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  usage: ModelUsage
  vendor?: AssistantMessage['vendor']
  /** What the provider names as sources of the text; absent for none. */
  sources?: ModelSource[]
  /** Pictures and audio that the model made; absent for none. */
  files?: ModelFile[]
}

/** A file that a model made. */
export interface ModelFile {
  /** MIME type, such as `image/png`. */
  mediaType: string
  /** Base64, without a `data:` prefix. */
  data: string
}

/** Tokens of one call, as the provider counted them. `cachedInput` and `cacheWrite` are parts of `input`, `reasoning` part of `output`. */
export interface ModelUsage {
  model: string
  /** `Model.place`. */
  place?: string
  input: number
  output: number
  /** Read from the provider's prompt cache. */
  cachedInput: number
  /** Written to the provider's prompt cache, where the provider has a price for it; absent: none. */
  cacheWrite?: number
  reasoning: number
}

/** The tokens of two calls of the same model. */
export function addUsage(first: ModelUsage, second: ModelUsage): ModelUsage {
  const cacheWrite = (first.cacheWrite ?? 0) + (second.cacheWrite ?? 0)
  return {
    model: first.model,
    ...(first.place !== undefined && { place: first.place }),
    input: first.input + second.input,
    output: first.output + second.output,
    cachedInput: first.cachedInput + second.cachedInput,
    ...(cacheWrite > 0 && { cacheWrite }),
    reasoning: first.reasoning + second.reasoning,
  }
}

export type ModelErrorCode =
  /** The provider is busy or a limit is reached: retry later. */
  | 'rate_limited'
  /** 5xx, a refused or broken connection, a stream that ended without a finish, silence. */
  | 'unavailable'
  /** 400: the provider will never accept the request. */
  | 'refused'
  /** 401, 403: the API key is wrong. */
  | 'unauthorized'

/** The message names the failed part and never holds a key, a URL's credentials or a provider's internals. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  /** Milliseconds to wait, as requested by the provider. */
  readonly retryAfterMs: number | undefined
  /** True where the provider has made no part of an answer, and so charges nothing. */
  readonly isFree: boolean

  constructor(code: ModelErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number; isFree?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryAfterMs = options.retryAfterMs
    this.isFree = options.isFree ?? false
  }

  get isRetryable(): boolean {
    return this.code === 'rate_limited' || this.code === 'unavailable'
  }
}

/**
 * Port: puts a run's outgoing requests into a distributed trace. Methods must not throw, and are called once per call,
 * never per token.
 */
export interface RunTrace {
  /** Traces a model call of the agent inside of this tool call; `undefined`: of the run's own agent. */
  modelCall(callId: string | undefined): ModelCallTrace
  /** W3C `traceparent` for the requests of a tool call. */
  traceparentOf(callId: string): string | undefined
}

/** Forwards the caller's trace when this service does not trace (W3C Trace Context, "forwarding"). */
export function forwardTrace(traceparent: string): RunTrace {
  const attempt = { traceparent, end: () => undefined }
  const call: ModelCallTrace = { attempt: () => attempt }
  return { modelCall: () => call, traceparentOf: () => traceparent }
}

/** Port: turns texts into vectors that are close where the meanings are close. Adapters live in models/. */
export interface Embedder {
  /** Vectors of embedders with different names cannot be compared. */
  readonly name: string
  /** False for a text in a language that the model does not know, whose vector would mean nothing. Default: every text is known. */
  knows?(text: string): boolean
  /** Characters of the texts of a call that keep the call short. Default: the caller decides. */
  readonly batchCharacters?: number
  /** Returns one vector per text, in order, all of the same length. Every expected failure is a `ModelError`. */
  embed(texts: readonly string[], signal: AbortSignal, options?: EmbedOptions): Promise<number[][]>
}

export interface EmbedOptions {
  /** Length of the vectors; default: that of the model. */
  dimensions?: number | undefined
  /** Called with the tokens of the texts, as the provider counted them. */
  onTokens?(tokens: number): void
  /** Absent: nothing limits what the call may cost, or the call costs nothing. */
  meter?: ModelMeter | undefined
}
