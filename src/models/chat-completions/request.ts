import type { JsonObject } from '../../agent/messages.ts'
import type { ModelOptions, ModelRequest, ReasoningEffort, ToolChoice, ToolOffer, Model } from '../../agent/model.ts'
import { isDemand } from '../../agent/model-request.ts'
import { type ModelAbilities, abilitiesOf } from '../../configuration/models/abilities.ts'
import { ownFields } from '../../configuration/models/rules.ts'
import { providers, type ChatCompletionsProvider, type ChatCompletionsTraits } from '../../configuration/providers.ts'
import { fitEffort, findDialect, type Dialect, type Quirks } from './dialects.ts'
import { withIdleTools } from '../fit-messages.ts'
import { toWireMessages } from './messages.ts'
import { isStrict, toToolSchema } from '../tool-schema.ts'
import { withSentNames } from '../property-names.ts'
import type { ModelConfig } from '../../configuration/schema.ts'

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

/** What is known of the server of a request, beside its provider. */
export interface ServerForm {
  dialect: Dialect
  quirks: Quirks
}

const ownFieldNames = new Set(ownFields)

/** The form of a server that is not known further. */
export function formOf(provider: ChatCompletionsProvider, host = ''): ServerForm {
  const dialect = findDialect(provider, host)
  const needsReasoning = dialect.needsReasoning ?? false
  return {
    dialect,
    quirks: {
      needsReasoning,
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
  const { provider, model } = settings
  const traits: ChatCompletionsTraits = providers[provider]
  const ability = settings.structuredOutput ?? toStructuredOutput(traits)
  // Any server may be one that ignores the choice of no tool, as Ollama does.
  const whole = traits.isAnyServer
    ? wanted
    : withIdleTools(wanted, (tools) => toResponseFormat({ ...wanted, tools }, ability) !== undefined)
  const request = quirks.needsPlainNames ? withSentNames(whole) : whole
  const { options = {} } = request
  const { toolChoice, reasoning } = toChoiceAndReasoning(settings, options, form)
  const { dialect, maxTokensField = 'max_tokens' } = traits
  const system = request.system === '' ? [] : [{ role: 'system', content: request.system }]
  // A tool that the provider runs has no form on this wire.
  const tools = request.tools.filter((tool) => !tool.provider)
  const isStrictly = settings.strictTools === true && !quirks.refusesStrict
  return JSON.stringify({
    ...extraFields(settings),
    model,
    messages: [...system, ...toWireMessages(dialect, request.messages, { identity: settings, quirks })],
    tools: tools.length > 0 ? tools.map((tool) => toWireTool(tool, isStrictly)) : undefined,
    ...(tools.length > 0 && { tool_choice: toWireChoice(toolChoice), parallel_tool_calls: options.parallelToolCalls }),
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
    ...reasoning,
    response_format: toResponseFormat({ ...request, tools }, ability),
  })
}

function extraFields({ extraBody }: RequestSettings): JsonObject {
  if (!extraBody) return {}
  return Object.fromEntries(Object.entries(extraBody).filter(([field]) => !ownFieldNames.has(field)))
}

/** Where a model that thinks takes no demand for a call, the thinking stops; where the server has no switch, the demand is left out. */
function toChoiceAndReasoning(settings: RequestSettings, options: ModelOptions, { dialect, quirks }: ServerForm) {
  const { toolChoice } = options
  const isRefused = quirks.refusesDemands && isDemand(toolChoice)
  if (isRefused && dialect.stopsForDemands) return { toolChoice, reasoning: dialect.toReasoning({ effort: 'none' }) }
  return { toolChoice: isRefused ? undefined : toolChoice, reasoning: dialect.toReasoning(toWish(settings, options)) }
}

/** An effort of the request replaces configured tokens, because tokens would take precedence. */
function toWish(settings: RequestSettings, options: ModelOptions) {
  const isAsked = options.reasoningEffort !== undefined || options.reasoningTokens !== undefined
  const effort = isAsked ? options.reasoningEffort : settings.reasoningEffort
  return {
    effort: settings.efforts ? fitEffort(effort, settings.efforts) : effort,
    tokens: isAsked ? options.reasoningTokens : settings.reasoningTokens,
    summary: options.reasoningSummary ?? settings.reasoningSummary,
  }
}

function toStructuredOutput({ schemaWithTools }: ChatCompletionsTraits): ModelAbilities['structuredOutput'] {
  return schemaWithTools ? 'with_tools' : 'without_tools'
}

/** `auto` is what a provider does without the field. */
function toWireChoice(choice: ToolChoice | undefined): unknown {
  if (choice === 'auto') return undefined
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice
}

function toWireTool({ name, description, schema }: ToolOffer, isStrictly: boolean): object {
  const parameters = toToolSchema(schema)
  const strict = isStrictly && isStrict(parameters) ? { strict: true } : {}
  return { type: 'function', function: { name, description, parameters, ...strict } }
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

type ConfiguredOptions = RequestSettings & Pick<Model, 'seesImages' | 'readsFiles'>

/** The options of a model on chat completions that agent.yaml and the table of abilities decide. */
export function toConfiguredOptions(provider: ChatCompletionsProvider, config: ModelConfig): ConfiguredOptions {
  const { schemaWithTools }: ChatCompletionsTraits = providers[provider]
  const abilities = abilitiesOf({ ...config, wire: 'chat-completions' })
  const { extra_body: extraBody, reasoning_summary: summary } = config
  return {
    provider,
    model: config.model,
    seesImages: config.images ?? true,
    readsFiles: (mediaType) => isReadable(mediaType, abilities),
    temperature: config.temperature,
    maxOutputTokens: config.max_output_tokens,
    reasoningEffort: config.reasoning_effort,
    // Models of OpenAI get the effort as configured, and what other servers accept is not known.
    efforts: provider === 'mistral' || provider === 'xai' ? abilities.efforts : undefined,
    reasoningTokens: config.reasoning_tokens,
    reasoningSummary: summary && summary === 'on',
    extraBody: extraBody as JsonObject | undefined,
    structuredOutput: schemaWithTools ? 'with_tools' : abilities.structuredOutput,
    strictTools: abilities.strictTools,
  }
}

/** The audio formats that every server with audio reads. */
const audioTypes = /^audio\/(?:(?:x-)?wav|wave|vnd\.wave|mpeg|mp3)$/i

function isReadable(mediaType: string, { documents, audio, video }: ModelAbilities): boolean {
  if (mediaType === 'application/pdf') return documents
  return audioTypes.test(mediaType) ? audio : video && mediaType.startsWith('video/')
}
