import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelOptions, ReasoningEffort } from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import type { Provider } from '../../configuration/providers.ts'
import { fitEffort } from '../fit-effort.ts'

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
    ...(summary === true ? { providerOptions: { xai: { reasoningSummary: 'auto' } } } : {}),
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

function toGemini({ effort, tokens, summary, isAlways }: Wish): ReasoningOptions {
  const isOff = tokens === 0 || (tokens === undefined && effort === 'none')
  // A model that does not think refuses the wish for its thoughts.
  const thinks = !isOff && (isAlways || effort !== undefined || tokens !== undefined || summary === true)
  const includeThoughts = thinks && summary !== false
  const thinkingConfig = { ...(tokens === undefined ? {} : { thinkingBudget: tokens }), ...(includeThoughts ? { includeThoughts } : {}) }
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
  return { providerOptions: { openai: { ...(effort === undefined ? {} : { reasoningEffort: effort }), reasoningSummary } } }
}
