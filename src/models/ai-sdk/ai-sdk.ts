import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, SharedV4ProviderOptions } from '@ai-sdk/provider'
import {
  ModelError,
  type Model,
  type ModelEvent,
  type ModelOptions,
  type ModelReply,
  type ModelRequest,
  type ModelServer,
} from '../../agent/model.ts'
import type { Provider } from '../../configuration/providers.ts'
import { toCallOptions } from './call-options.ts'
import { toReasoningOptions, type ReasoningAbilities, type WantedReasoning } from './reasoning-options.ts'
import { mayThink, toFunctionTool, toPrompt, toResponseFormat } from './prompt.ts'
import { PartCollector } from './reply.ts'
import type { Timeouts } from '../chat-completions/event-stream.ts'
import { toConnectionError, toStatusError, type Origin } from '../failures.ts'

export interface AiSdkOptions {
  /** Name of the provider in the configuration. Signed parts are sent back only to the same provider. */
  provider: Provider
  model: string
  seesImages: boolean
  /** Whether the model reads files of a MIME type. */
  readsFiles(mediaType: string): boolean
  /** Loads the provider's package. Called once, at the first request. */
  load(): Promise<LanguageModelV4>
  settings: Pick<LanguageModelV4CallOptions, 'temperature' | 'maxOutputTokens'>
  /** The configured reasoning; that of a request replaces it. */
  reasoning: WantedReasoning
  abilities: ReasoningAbilities
  /** Whether the prompt has marks for the cache of the provider. */
  marksCache: boolean
  /** Options of the provider for each call; what the service sets itself takes precedence. */
  providerOptions: SharedV4ProviderOptions
  timeouts: Timeouts
  origin: Origin
  server: ModelServer | undefined
}

/** Providers of Claude, which wants its signed thoughts at the beginning of an open step. */
const signsThoughts = new Set(['anthropic', 'amazon-bedrock'])

/** Creates a `Model` on a provider package of the AI SDK. Only the stream of the SDK is used; retries, tools and limits are our own. */
export function createAiSdkModel(options: AiSdkOptions): Model {
  const { provider, model, origin, timeouts, settings } = options
  let loading: Promise<LanguageModelV4> | undefined

  async function* reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
    signal.throwIfAborted()
    const language = await (loading ??= options.load())
    const watch = new RequestWatch(signal)
    const collector = new PartCollector(origin)
    let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
    try {
      // The form of the tools that the provider runs is not known here.
      const offers = request.tools.filter((tool) => !tool.provider)
      const tools = offers.length > 0 ? offers.map(toFunctionTool) : undefined
      const { traceparent } = request
      const headers = traceparent === undefined ? undefined : { traceparent }
      const wanted = { ...settings, ...toCallOptions(provider, request.options), responseFormat: toResponseFormat(request) }
      const thinks = !signsThoughts.has(provider) || mayThink(options, request)
      const thought = thinks ? toReasoningOptions(provider, toWanted(options.reasoning, request.options), options.abilities) : {}
      const providerOptions = [thought.providerOptions, options.providerOptions, wanted.providerOptions].reduce(mergeOptions, {})
      const call = {
        ...wanted,
        reasoning: thought.reasoning,
        providerOptions,
        prompt: toPrompt(options, request),
        tools,
        headers,
        abortSignal: watch.signal,
      }
      reader = (await watch.within(timeouts.firstTokenMs, language.doStream(call))).stream.getReader()
      for (;;) {
        const next = await watch.within(collector.hasBegun ? timeouts.idleMs : timeouts.firstTokenMs, reader.read())
        if (next.done) return collector.toReply(model, provider)
        const event = collector.accept(next.value)
        if (event) yield event
      }
    } catch (error) {
      signal.throwIfAborted()
      throw watch.isSilent ? toSilence(options, collector.hasBegun) : toModelError(origin, error, collector.hasBegun)
    } finally {
      watch.stop()
      // If the stream has failed, the cancel fails too.
      reader?.cancel().catch(() => undefined)
    }
  }

  return { name: model, seesImages: options.seesImages, readsFiles: options.readsFiles, server: options.server, reply }
}

/** An effort of the request replaces configured tokens, because tokens would take precedence. */
function toWanted(configured: WantedReasoning, { reasoningEffort, reasoningTokens, reasoningSummary }: ModelOptions = {}): WantedReasoning {
  const isAsked = reasoningEffort !== undefined || reasoningTokens !== undefined
  const amount = isAsked ? { reasoningEffort, reasoningTokens } : configured
  return { ...amount, reasoningSummary: reasoningSummary ?? configured.reasoningSummary }
}

/** Options of `second` take precedence, field by field. */
function mergeOptions(first: SharedV4ProviderOptions = {}, second: SharedV4ProviderOptions = {}): SharedV4ProviderOptions {
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return Object.fromEntries([...names].map((name) => [name, { ...first[name], ...second[name] }]))
}

/** Aborts a request when the caller disconnects or the provider is silent. The signal has no custom reason, which the SDK would misread. */
class RequestWatch {
  isSilent = false
  private readonly controller = new AbortController()
  private readonly outer: AbortSignal
  private readonly abort = (): void => this.controller.abort()

  constructor(outer: AbortSignal) {
    this.outer = outer
    outer.addEventListener('abort', this.abort)
    if (outer.aborted) this.abort()
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  async within<T>(ms: number, waiting: PromiseLike<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.isSilent = true
      this.abort()
    }, ms)
    try {
      return await waiting
    } finally {
      clearTimeout(timer)
    }
  }

  stop(): void {
    this.outer.removeEventListener('abort', this.abort)
    this.abort()
  }
}

function toSilence({ origin, timeouts }: AiSdkOptions, hasBegun: boolean): ModelError {
  const symptom = hasBegun
    ? `went silent for ${timeouts.idleMs / 1000} s in its answer`
    : `did not begin its answer within ${timeouts.firstTokenMs / 1000} s`
  return new ModelError('unavailable', `${origin.label} ${symptom}`)
}

/** Converts an error of the SDK. The error is not kept as `cause`: it contains the prompt and the answer, which must not be logged. */
export function toModelError(origin: Origin, error: unknown, hasBegun: boolean): unknown {
  if (error instanceof ModelError) return error
  const { name, statusCode, responseHeaders, responseBody } = error as ApiCallError
  if (statusCode !== undefined && statusCode !== 200) {
    return toStatusError(origin, { status: statusCode, headers: responseHeaders ?? {}, body: responseBody ?? '', now: Date.now() })
  }
  // The SDK rejects messages and tools unknown to the provider before sending a request.
  const isRefusal = typeof name === 'string' && name.startsWith('AI_') && name !== 'AI_APICallError' && !hasBegun
  if (isRefusal) return new ModelError('refused', `${origin.label} does not support this request (${name})`)
  return toConnectionError(origin, error, hasBegun)
}

interface ApiCallError {
  name?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
  responseBody?: string
}
