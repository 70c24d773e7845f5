import type { LanguageModelV4CallOptions, SharedV4ProviderOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { ModelOptions, ToolChoice, ReasoningEffort, ModelRequest, ToolOffer } from '../../agent/model.ts'
import type { Provider } from '../../configuration/providers.ts'
import { isBlank } from '../fit-messages.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import { fitEffort } from '../chat-completions/dialects.ts'
import { isStrict, toToolSchema } from '../tool-schema.ts'

type CallOptions = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'topP'
  | 'maxOutputTokens'
  | 'stopSequences'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'toolChoice'
  | 'providerOptions'
>

/** The options of a request as options of the SDK; an option that the request does not have is absent. */
export function toCallOptions(provider: Provider, options: ModelOptions = {}): CallOptions {
  const { temperature, topP, maxOutputTokens, seed, presencePenalty, frequencyPenalty } = options
  const stop = options.stop?.filter((text) => takesStop(provider, text)) ?? []
  const toolChoice = toSdkChoice(options.toolChoice)
  // The other providers have no such option. The loop takes a single call in any case.
  const single = options.parallelToolCalls === false ? singleCall[provider] : undefined
  return defined({
    temperature,
    topP,
    maxOutputTokens,
    stopSequences: stop.length > 0 ? stop : undefined,
    seed,
    presencePenalty,
    frequencyPenalty,
    toolChoice,
    providerOptions: single,
  })
}

/** The fields that have a value. */
export function defined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields
}

/** Stop texts of a request that the provider does not take. */
export function untakenStops(provider: Provider, { stop = [] }: ModelOptions = {}): string[] {
  return stop.filter((text) => text !== '' && !takesStop(provider, text))
}

/** The responses API knows no stop texts, and Claude none of white space. */
function takesStop(provider: Provider, text: string): boolean {
  return text !== '' && (provider === 'google' || (!isOnResponses(provider) && !isBlank(text)))
}

/** The option for at most one call in a turn. */
const ofResponses = { openai: { parallelToolCalls: false } }
const singleCall: Readonly<Record<string, SharedV4ProviderOptions>> = {
  anthropic: { anthropic: { disableParallelToolUse: true } },
  openai: ofResponses,
  azure: ofResponses,
  'openai-compatible': ofResponses,
}

function toSdkChoice(choice: ToolChoice | undefined): CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice }
}

/** How much a model is to think, of agent.yaml or of a request. */
export type WantedReasoning = Pick<ModelOptions, 'reasoningEffort' | 'reasoningTokens' | 'reasoningSummary'>

export type ReasoningAbilities = Pick<ModelAbilities, 'efforts' | 'reasoningTokens' | 'reasoningSummary'>

type ReasoningOptions = Pick<LanguageModelV4CallOptions, 'reasoning'> & { providerOptions?: SharedV4ProviderOptions }

interface Wish {
  /** Absent: as the provider decides. */
  effort: ReasoningEffort | undefined
  /** Absent: no limit, or a model without such limits. */
  tokens: number | undefined
  /** Absent: the default of the service. */
  summary: boolean | undefined
  /** The model thinks in any case. */
  isAlways: boolean
}

/** The reasoning of a call, translated for the package of the provider. A model without reasoning gets no option. */
export function toReasoningOptions(provider: Provider, wanted: WantedReasoning, abilities: ReasoningAbilities): ReasoningOptions {
  const { efforts, reasoningTokens } = abilities
  if (efforts.length === 0 && !reasoningTokens) return {}
  const effort = fitEffort(wanted.reasoningEffort, efforts)
  const tokens = reasoningTokens ? wanted.reasoningTokens : undefined
  const wish = { effort, tokens, summary: wanted.reasoningSummary, isAlways: !efforts.includes('none') && !reasoningTokens }
  return (translations[provider] ?? toResponses)(wish)
}

const translations: Partial<Record<Provider, (wish: Wish) => ReasoningOptions>> = {
  anthropic: toClaude,
  google: toGemini,
  'amazon-bedrock': toBedrock,
  xai: ({ effort, summary }) => ({
    reasoning: effort,
    ...(summary === true && { providerOptions: { xai: { reasoningSummary: 'auto' } } }),
  }),
}

function toClaude({ effort, tokens, summary, isAlways }: Wish): ReasoningOptions {
  // Claude thinks between tool calls with this header; the newest models do so without.
  const anthropicBeta = ['interleaved-thinking-2025-05-14']
  if (tokens === 0) return { reasoning: 'none' }
  if (tokens !== undefined)
    return { providerOptions: { anthropic: { anthropicBeta, thinking: { type: 'enabled', budgetTokens: Math.max(minBudget, tokens) } } } }
  // The newest models think without being asked, and send their thoughts only on demand.
  const display = isAlways && summary !== false ? { thinking: { type: 'adaptive', display: 'summarized' } } : {}
  const hidden = isAlways && summary === false ? { thinking: { type: 'adaptive', display: 'omitted' } } : {}
  const beta = effort !== undefined && effort !== 'none' && !isAlways ? { anthropicBeta } : {}
  return { reasoning: effort, providerOptions: { anthropic: { ...display, ...hidden, ...beta } } }
}

/** Claude refuses a smaller budget. */
const minBudget = 1024

/** The longest answer of a Claude that thinks up to a number of tokens, and the shares of that answer into which the packages turn efforts. */
const longestAnswer = 64_000
const shares: Partial<Record<ReasoningEffort, number>> = { minimal: 0.02, low: 0.1, medium: 0.3, high: 0.6, xhigh: 0.9 }

/** The most tokens of reasoning that a package adds to the `maxOutputTokens` of a call. */
export function tokensBeside(
  provider: Provider,
  { reasoningEffort, reasoningTokens: tokens }: WantedReasoning,
  abilities: ReasoningAbilities,
) {
  if ((provider !== 'anthropic' && provider !== 'amazon-bedrock') || !abilities.reasoningTokens) return tokens ?? 0
  if (tokens !== undefined) return tokens && Math.max(minBudget, tokens)
  const effort = fitEffort(reasoningEffort, abilities.efforts)
  // The other models with a number of tokens take an effort as such, within `maxOutputTokens`.
  const share = abilities.efforts.includes('minimal') ? shares[effort ?? 'none'] : undefined
  return share === undefined ? 0 : Math.max(minBudget, Math.round(longestAnswer * share))
}

function toGemini({ effort, tokens, summary, isAlways }: Wish): ReasoningOptions {
  const isOff = tokens === 0 || (tokens === undefined && effort === 'none')
  // A model that does not think refuses the wish for its thoughts.
  const thinks = !isOff && (isAlways || effort !== undefined || tokens !== undefined || summary === true)
  const includeThoughts = thinks && summary !== false
  const thinkingConfig = { ...(tokens !== undefined && { thinkingBudget: tokens }), ...(includeThoughts && { includeThoughts }) }
  return { reasoning: tokens === undefined ? effort : undefined, providerOptions: { google: { thinkingConfig } } }
}

function toBedrock({ effort, tokens }: Wish): ReasoningOptions {
  if (tokens === 0) return { reasoning: 'none' }
  if (tokens !== undefined)
    return { providerOptions: { bedrock: { reasoningConfig: { type: 'enabled', budgetTokens: Math.max(minBudget, tokens) } } } }
  // The package translates `xhigh` to the highest effort of the provider, and does not know `max`.
  return { reasoning: effort === 'max' ? 'xhigh' : effort }
}

/** A summary is asked for by default: without it, a run of OpenAI's models has no reasoning steps. */
function toResponses({ effort, summary }: Wish): ReasoningOptions {
  const reasoningSummary = summary === false || effort === 'none' ? null : 'auto'
  return { providerOptions: { openai: { ...(effort !== undefined && { reasoningEffort: effort }), reasoningSummary } } }
}

/** Claude refuses a request with more strict tools. */
const maxStrictOfClaude = 20

/** The agent's own tools. The provider enforces the schemas of tools where the provider and the schema allow it. */
export function toFunctionTools(
  provider: Provider,
  offers: readonly ToolOffer[],
  { strictTools }: Pick<ModelAbilities, 'strictTools'>,
): LanguageModelV4FunctionTool[] {
  let remaining = provider === 'anthropic' ? maxStrictOfClaude : Infinity
  return offers
    .filter(({ provider: kind }) => !kind)
    .map(({ name, description, schema: whole }) => {
      const schema = toToolSchema(whole)
      const isEnforced = strictTools && remaining > 0 && isStrict(schema)
      if (isEnforced) remaining--
      // The responses API enforces a schema unless told otherwise, and changes the schema for that.
      const strict = isEnforced ? { strict: true } : isOnResponses(provider) ? { strict: false } : {}
      return { type: 'function', name, description, inputSchema: schema, ...strict }
    })
}

/**
 * The schema of the answer, where the provider enforces one. Beside tools only with an ability for both: other models would answer by a tool of
 * the package, which takes the place of the agent's tools. That tool needs an object.
 */
export function toAnswerFormat(
  provider: Provider,
  { responseSchema, tools }: Pick<ModelRequest, 'responseSchema' | 'tools'>,
  { structuredOutput }: Pick<ModelAbilities, 'structuredOutput'>,
): Pick<LanguageModelV4CallOptions, 'responseFormat'> & { providerOptions?: SharedV4ProviderOptions } {
  if (!responseSchema || responseSchema['type'] !== 'object' || structuredOutput === 'none') return {}
  const { $schema: _, ...schema } = responseSchema
  const isEnforced = isStrict(schema)
  // Claude refuses other schemas, and answers that are to have citations: those of its searches.
  const isRefused = provider === 'anthropic' && (!isEnforced || tools.some((tool) => tool.provider))
  if (tools.length > 0 && (structuredOutput !== 'with_tools' || isRefused)) return {}
  const strictness = isOnResponses(provider) && provider !== 'xai' ? { providerOptions: { openai: { strictJsonSchema: isEnforced } } } : {}
  return { responseFormat: { type: 'json', name: 'answer', schema }, ...strictness }
}

const packages: ReadonlySet<Provider> = new Set(['anthropic', 'google', 'amazon-bedrock'])

/** Whether the provider is called by the responses API: every provider without a package of its own. */
export function isOnResponses(provider: Provider): boolean {
  return !packages.has(provider)
}
