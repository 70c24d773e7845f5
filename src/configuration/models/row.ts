import type { ReasoningEffort } from '../../agent/model.ts'
import type { Provider } from '../providers.ts'

export interface ModelAbilities {
  tools: boolean
  parallelTools: boolean
  /** Whether the provider enforces the schema of an answer: beside tools, only without tools, or never. */
  structuredOutput: 'with_tools' | 'without_tools' | 'none'
  /** Whether the provider enforces the schemas of tools. */
  strictTools: boolean
  /** The efforts that the model accepts; empty: the model has no such setting. */
  efforts: readonly ReasoningEffort[]
  /** Whether the reasoning can be limited in tokens. */
  reasoningTokens: boolean
  /** Whether the provider sends its reasoning, or a summary of it. */
  reasoningSummary: boolean
  images: boolean
  /** PDF documents. */
  documents: boolean
  audio: boolean
  video: boolean
  /** The prompt cache of the provider: by itself, by marks in the request, or none. */
  cache: 'automatic' | 'marks' | 'none'
  /** The tools of the provider, by the names of `config.tool`. */
  providerTools: readonly string[]
}

export type Wire = 'chat-completions' | 'responses' | 'ai-sdk' | 'embedded'

/** What is known of the models of a family at one or more providers. */
export interface Row {
  providers: readonly Provider[]
  /** Found anywhere in a model's id. Absent: every model of the providers. */
  model?: RegExp
  /** Absent: every wire. */
  wires?: readonly Wire[]
  abilities: Partial<ModelAbilities>
}

/** Rows of the same providers, from pairs of a pattern and its abilities, above what the family has in common. */
export function toRows(providers: readonly Provider[], common: Partial<ModelAbilities>, families: readonly Family[]): Row[] {
  return families.map(([model, abilities]) => ({ providers, model, abilities: { ...common, ...abilities } }))
}

export type Family = readonly [model: RegExp, abilities: Partial<ModelAbilities>]

/** The abilities of a model without reasoning. */
export const withoutReasoning: Partial<ModelAbilities> = { efforts: [], reasoningTokens: false, reasoningSummary: false }

export const lowToHigh: readonly ReasoningEffort[] = ['low', 'medium', 'high']

/** A model that turns texts into vectors has no ability of a chat model. */
export const noAbilities: ModelAbilities = {
  tools: false,
  parallelTools: false,
  structuredOutput: 'none',
  strictTools: false,
  efforts: [],
  reasoningTokens: false,
  reasoningSummary: false,
  images: false,
  documents: false,
  audio: false,
  video: false,
  cache: 'none',
  providerTools: [],
}
