import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest, ModelServer, ModelSink, ToolOffer } from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import type { Provider } from '../../configuration/providers.ts'
import { withBedrockFiles, mayThink, toPrompt } from './prompt.ts'
import {
  toCallOptions,
  untakenStops,
  tokensBeside,
  toReasoningOptions,
  type WantedReasoning,
  isOnResponses,
  toAnswerFormat,
  toFunctionTools,
} from './call-options.ts'
import { toProviderTools } from './provider-tools.ts'
import { PartCollector } from './reply.ts'
import { withIdleTools, withoutCalls, withRealNames, withSentNames } from '../fit-messages.ts'
import { withStops } from '../stops.ts'
import type { Timeouts } from '../connections.ts'
import { toModelError, toSilenceError, type Origin } from '../failures.ts'

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
  abilities: ModelAbilities
  /** Whether the prompt has marks for the cache of the provider. */
  marksCache: boolean
  /** Options of the provider for each call; what the service sets itself takes precedence. */
  providerOptions: SharedV4ProviderOptions
  timeouts: Timeouts
  origin: Origin
  server: ModelServer | undefined
}

/** Requests for one reply: Claude pauses a reply with many calls of its own, and goes on when asked again. */
const maxTurns = 10

/**
 * Providers of Claude, which wants its signed thoughts at the beginning of an open step, takes calls in messages beside tools only, and refuses
 * some names of parameters.
 */
const ofClaude = new Set(['anthropic', 'amazon-bedrock'])

/** Creates a `Model` on a provider package of the AI SDK. Only the stream of the SDK is used; retries, tools and limits are our own. */
export function createAiSdkModel(options: AiSdkOptions): Model {
  const { provider, model, origin, timeouts } = options
  let loading: Promise<LanguageModelV4> | undefined

  async function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    signal.throwIfAborted()
    const language = await (loading ??= options.load())
    const askable = toAskable(options, request)
    const collector = new PartCollector(origin, provider, askable.tools)
    const call = toCall(options, askable)
    for (let turn = 1; ; turn++) {
      try {
        await read(language, call, collector, sink, signal)
      } catch (error) {
        request.onBroken?.(collector.size)
        throw error
      }
      const paused = turn < maxTurns ? collector.resume() : undefined
      if (!paused) return withRealNames(collector.toReply(model), request.tools)
      // All turns of a reply share the length that the reply may have.
      const { maxOutputTokens } = request.options ?? {}
      if (maxOutputTokens !== undefined) call.maxOutputTokens = Math.max(1, maxOutputTokens - collector.earlierOutput)
      call.prompt = [...toPrompt(options, askable), paused]
    }
  }

  /** Reads one stream of the provider to its end. */
  async function read(
    language: LanguageModelV4,
    call: LanguageModelV4CallOptions,
    collector: PartCollector,
    sink: ModelSink,
    signal: AbortSignal,
  ): Promise<void> {
    const watch = new RequestWatch(signal)
    let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
    let isPassing = false
    const pass = async (event: ModelEvent): Promise<void> => {
      isPassing = true
      await sink(event)
      isPassing = false
    }
    try {
      const streaming = language.doStream({ ...call, abortSignal: watch.signal })
      reader = (await watch.within(timeouts.firstTokenMs, streaming)).stream.getReader()
      for (;;) {
        const next = await watch.within(collector.hasBegun ? timeouts.idleMs : timeouts.firstTokenMs, reader.read())
        if (next.done) break
        const event = collector.accept(next.value)
        if (event) await pass(event)
      }
      for (const event of collector.lateEvents()) await pass(event)
    } catch (error) {
      // A failure of the sink is no failure of the provider.
      if (isPassing) throw error
      signal.throwIfAborted()
      throw watch.isSilent ? toSilenceError(origin, timeouts, collector.hasBegun) : toModelError(origin, error, collector.hasBegun)
    } finally {
      watch.stop()
      // If the stream has failed, the cancel fails too.
      reader?.cancel().catch(() => undefined)
    }
  }

  function replyWithStops(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    const stops = untakenStops(provider, request.options)
    return stops.length > 0 ? withStops(stops, sink, (filter) => reply(request, filter, signal)) : reply(request, sink, signal)
  }

  const { seesImages, readsFiles, server, reasoning, abilities } = options
  const reasoningBeside = (asked?: ModelOptions) => tokensBeside(provider, toWanted(reasoning, asked), abilities)
  return { name: model, seesImages, readsFiles, server, reasoningBeside, reply: replyWithStops }
}

/** Providers that know the choice of no tool. The servers of `openai-compatible` do not: Ollama, for one, ignores the choice. */
const knowsNone: ReadonlySet<Provider> = new Set(['anthropic', 'google', 'openai', 'azure', 'xai'])

/** The request as the provider takes it. */
function toAskable({ provider, abilities }: AiSdkOptions, wanted: ModelRequest): ModelRequest {
  const request = provider === 'amazon-bedrock' ? { ...wanted, messages: withBedrockFiles(wanted.messages) } : wanted
  const hasFormat = (tools: readonly ToolOffer[]) => toAnswerFormat(provider, { ...request, tools }, abilities).responseFormat !== undefined
  const askable = knowsNone.has(provider) ? withIdleTools(request, hasFormat) : request
  const isWithoutTools = toFunctionTools(provider, askable.tools, abilities).length === 0
  if (!ofClaude.has(provider)) return askable
  return isWithoutTools ? { ...askable, messages: withoutCalls(askable.messages) } : withSentNames(askable)
}

/** The call of the package for a request. What the service sets itself takes precedence over the options of agent.yaml. */
function toCall(options: AiSdkOptions, request: ModelRequest): LanguageModelV4CallOptions {
  const { provider, abilities } = options
  const offered = toProviderTools(provider, request.tools, abilities.providerTools)
  const tools = [...toFunctionTools(provider, request.tools, abilities), ...offered.tools]
  const format = toAnswerFormat(provider, request, abilities)
  const wanted = toCallOptions(provider, request.options)
  const thinks = !ofClaude.has(provider) || mayThink(options, request)
  const thought = thinks ? toReasoningOptions(provider, toWanted(options.reasoning, request.options), abilities) : {}
  const all = [thought, options, offered.options && { providerOptions: offered.options }, format, wanted]
  return {
    ...options.settings,
    ...wanted,
    responseFormat: format.responseFormat,
    reasoning: thought.reasoning,
    providerOptions: all.map((part) => part?.providerOptions).reduce(mergeOptions, {}),
    prompt: toPrompt(options, request),
    tools: tools.length > 0 ? tools : undefined,
    ...((offered.tools.length > 0 || offered.options || isOnResponses(provider)) && { includeRawChunks: true }),
    headers: request.traceparent === undefined ? undefined : { traceparent: request.traceparent },
  }
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
