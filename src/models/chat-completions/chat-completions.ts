import type { Pool } from 'undici'
import type { JsonObject } from '../../agent/messages.ts'
import {
  isDemand,
  type Model,
  type ModelError,
  type ModelOptions,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type ReasoningEffort,
  type ToolOffer,
} from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import { ownFields } from '../../configuration/models/rules.ts'
import { providers, type ChatCompletionsProvider, type ChatCompletionsTraits } from '../../configuration/providers.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { Connections, Timeouts } from '../connections.ts'
import type { Origin } from '../failures.ts'
import { withIdleTools, withRealNames, withSentNames } from '../fit-messages.ts'
import { toServer } from '../model-access.ts'
import { isStrict, toolSchemas, toToolSchema } from '../tool-schema.ts'
import { findDialect, findQuirk, fitEffort, type Dialect, type Quirks } from './dialects.ts'
import { Delivery } from './delivery.ts'
import { EventStream } from './event-stream.ts'
import { toWireMessages } from './messages.ts'
import { ReplyBuilder } from './reply.ts'

/** Settings that are the same in every request of a model. */
export interface RequestSettings {
  provider: ChatCompletionsProvider
  model: string
  temperature?: number
  maxOutputTokens?: number
  reasoningEffort?: ReasoningEffort
  /** The efforts that the model accepts. Another effort becomes the next greater one. Absent: any effort is sent as it is. */
  efforts?: readonly ReasoningEffort[]
  /** The most tokens of reasoning; takes precedence over an effort. */
  reasoningTokens?: number
  /** False: the server keeps its reasoning to itself, where it can. */
  reasoningSummary?: boolean
  /** Further fields of the body. The fields in `ownFields` are ignored. */
  extraBody?: JsonObject
  /** When the schema of an answer is sent. Default: as the provider's traits say. */
  structuredOutput?: ModelAbilities['structuredOutput']
  /** Whether the server enforces the schemas of tools. */
  strictTools?: boolean
}

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
  const { url, origin, timeouts, readsFiles } = options
  const headers = ['content-type', 'application/json', 'accept', 'text/event-stream', ...Object.entries(options.headers).flat()]
  const path = url.pathname + url.search
  // The format in which the configuration asks the model to speak.
  const { format } = fieldsOf(options.extraBody?.['audio'])
  const settings = { ...options, speechFormat: typeof format === 'string' ? format : undefined }
  /** What is known of the server. Refusals add to it. */
  let form = formOf(options.provider, url.hostname)
  let pool: Pool | undefined

  /** Whether the refused request can be made so that the server takes it. */
  function learn(refusal: ModelError, sent: ServerForm): boolean {
    const quirk = findQuirk(sent.quirks, refusal)
    if (quirk) form = { ...form, quirks: { ...form.quirks, [quirk]: true } }
    return quirk !== undefined
  }

  async function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    signal.throwIfAborted()
    pool ??= await options.connections.pool(url.origin, timeouts.connectMs)
    // `traceparent` of the configuration takes precedence.
    const isTraced = request.traceparent !== undefined && !('traceparent' in options.headers)
    const sentHeaders = isTraced ? [...headers, 'traceparent', request.traceparent!] : headers
    for (;;) {
      signal.throwIfAborted()
      const sent = form
      const builder = new ReplyBuilder(settings, origin)
      const stream = new EventStream(origin, timeouts, builder)
      const leave = () => stream.leave()
      signal.addEventListener('abort', leave)
      try {
        stream.open(pool, path, sentHeaders, toRequestBody(options, request, sent))
        await new Delivery(stream, builder, { sink, signal }).ended
        if (stream.failure && !builder.hasBegun && learn(stream.failure, sent)) continue
        // After the finish reason only the usage can be missing, so a failure is ignored.
        if (stream.failure && !builder.isWhole) throw stream.failure
        return sent.quirks.needsPlainNames ? withRealNames(builder.toReply(), request.tools) : builder.toReply()
      } finally {
        signal.removeEventListener('abort', leave)
        if (!builder.isWhole) request.onBroken?.(builder.size)
        if (builder.isDone) stream.drain()
        else stream.leave()
      }
    }
  }

  return { name: options.model, seesImages: options.seesImages, ...(readsFiles && { readsFiles }), server: toServer(url), reply }
}

/** What is known of the server of a request, beside its provider. */
export interface ServerForm {
  dialect: Dialect
  quirks: Quirks
}

/** The form of a server that is not known further. */
export function formOf(provider: ChatCompletionsProvider, host = ''): ServerForm {
  const dialect = findDialect(provider, host)
  return {
    dialect,
    quirks: {
      needsReasoning: dialect.needsReasoning ?? false,
      refusesReasoning: false,
      needsSignatures: false,
      needsDetails: false,
      refusesStrict: false,
      needsAlternation: false,
      refusesDemands: false,
      needsPlainNames: false,
    },
  }
}

/** Creates the JSON text of a request body. Options of the request replace settings. */
export function toRequestBody(settings: RequestSettings, wanted: ModelRequest, form = formOf(settings.provider)): string {
  const { quirks } = form
  const { dialect, isAnyServer, schemaWithTools, maxTokensField = 'max_tokens' }: ChatCompletionsTraits = providers[settings.provider]
  const ability = settings.structuredOutput ?? (schemaWithTools ? 'with_tools' : 'without_tools')
  // Any server may be one that ignores the choice of no tool, as Ollama does.
  const isOffered = isAnyServer || !wanted.idleTools
  const whole = isOffered ? wanted : withIdleTools(wanted, (tools) => toResponseFormat({ ...wanted, tools }, ability) !== undefined)
  const request = quirks.needsPlainNames ? withSentNames(whole) : whole
  const { options = {}, responseSchema } = request
  const { toolChoice } = options
  // Where a model that thinks takes no demand for a call, the thinking stops; where the server has no switch, the demand is left out.
  const isRefused = quirks.refusesDemands && isDemand(toolChoice)
  const isStopped = isRefused && form.dialect.stopsForDemands === true
  const choice = (isRefused && !isStopped) || toolChoice === 'auto' ? undefined : toolChoice
  // A tool that the provider runs has no form on this wire.
  const tools = request.tools.filter((tool) => !tool.provider)
  const isStrictly = settings.strictTools === true && !quirks.refusesStrict
  const body = JSON.stringify({
    ...(settings.extraBody && extraFields(settings.extraBody)),
    model: settings.model,
    messages: toWireMessages(dialect, request, { identity: settings, quirks }),
    ...(tools.length > 0 && {
      tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice,
      parallel_tool_calls: options.parallelToolCalls,
    }),
    stream: true,
    // Mistral rejects unknown fields, and always sends the usage.
    stream_options: dialect === 'mistral' ? undefined : { include_usage: true },
    temperature: options.temperature ?? settings.temperature,
    top_p: options.topP,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    stop: options.stop,
    [dialect === 'mistral' ? 'random_seed' : 'seed']: options.seed,
    [maxTokensField]: options.maxOutputTokens ?? settings.maxOutputTokens,
    ...(isStopped ? form.dialect.toReasoning({ effort: 'none' }) : toReasoning(settings, options, form.dialect)),
    response_format: responseSchema && toResponseFormat({ responseSchema, tools }, ability),
  })
  return tools.length === 0 ? body : `${body.slice(0, -1)},"tools":[${tools.map((tool) => toWireTool(tool, isStrictly)).join()}]}`
}

const ownFieldNames = new Set(ownFields)

function extraFields(extraBody: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(extraBody).filter(([field]) => !ownFieldNames.has(field)))
}

/** The fields for the wanted reasoning. An effort of the request replaces configured tokens, because tokens would take precedence. */
function toReasoning(settings: RequestSettings, options: ModelOptions, dialect: Dialect): object | undefined {
  const { reasoningEffort, reasoningTokens: tokens } =
    (options.reasoningEffort ?? options.reasoningTokens) === undefined ? settings : options
  const summary = options.reasoningSummary ?? settings.reasoningSummary
  if ((reasoningEffort ?? tokens ?? summary) === undefined) return undefined
  return dialect.toReasoning({ effort: settings.efforts ? fitEffort(reasoningEffort, settings.efforts) : reasoningEffort, tokens, summary })
}

interface WireTool extends Pick<ToolOffer, 'name' | 'description'> {
  isStrictly: boolean
  json: string
}

/** The last JSON text of a tool, by its schema, which lives as long as the tool: most requests of an agent offer the same tools. */
const wireTools = new WeakMap<ToolOffer['schema'], WireTool>()

function toWireTool({ name, description, schema }: ToolOffer, isStrictly: boolean): string {
  const last = wireTools.get(schema)
  if (last?.name === name && last.description === description && last.isStrictly === isStrictly) return last.json
  const parameters = toolSchemas.get(schema) ?? toToolSchema(schema)
  const strict = isStrictly && isStrict(parameters) ? { strict: true } : {}
  const json = JSON.stringify({ type: 'function', function: { name, description, parameters, ...strict } })
  wireTools.set(schema, { name, description, isStrictly, json })
  return json
}

/**
 * `response_format` of a request with a schema; undefined where the provider's form does not fit. A server that decodes by the schema calls no
 * tools then, so that such a server gets the form only in requests without tools.
 */
export function toResponseFormat(
  { responseSchema, tools }: Pick<ModelRequest, 'responseSchema' | 'tools'>,
  ability: ModelAbilities['structuredOutput'],
): object | undefined {
  // OpenAI and most servers accept only objects.
  if (!responseSchema || responseSchema['type'] !== 'object') return undefined
  if (ability === 'none' || (tools.length > 0 && ability !== 'with_tools')) return undefined
  const { $schema: _, ...schema } = responseSchema
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrict(schema) } }
}
