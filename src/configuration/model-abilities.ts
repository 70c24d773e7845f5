import type { ReasoningEffort } from '../agent/model.ts'
import { findProvider, type Provider } from './providers.ts'
import type { ModelConfig } from './model-schema.ts'

/**
 * What the models of the providers can do, as data: the only place with names of models. A model that no row names has the abilities of its
 * provider, and a server of unknown models those of OpenAI's chat completions.
 */

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

/** The wire on which a configured model is called. */
export function wireOf({ provider, wire }: Pick<ModelConfig, 'provider' | 'wire'>): Wire {
  const traits = findProvider(provider)
  if (traits?.wire !== 'chat-completions') return traits?.wire ?? 'embedded'
  if (traits.responses === undefined) return 'chat-completions'
  return wire ?? (traits.responses === 'default' ? 'responses' : 'chat-completions')
}

/** The abilities of a configured model. The field `images` of the configuration is not applied here. */
export function abilitiesOf(config: Pick<ModelConfig, 'provider' | 'model' | 'wire'>): ModelAbilities {
  const wire = wireOf(config)
  const fitting = rows.find(({ provider, model, wires = [wire] }) => {
    return provider === config.provider && wires.includes(wire) && (model?.test(config.model) ?? true)
  })
  return { ...unknownModel, ...fitting?.abilities }
}

/** A server of unknown models. */
const unknownModel: ModelAbilities = {
  tools: true,
  parallelTools: true,
  structuredOutput: 'without_tools',
  strictTools: false,
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  reasoningTokens: false,
  reasoningSummary: true,
  images: true,
  documents: false,
  audio: false,
  video: false,
  cache: 'automatic',
  providerTools: [],
}

interface Row {
  provider: Provider
  /** Absent: every model of the provider. */
  model?: RegExp
  /** Absent: every wire. */
  wires?: readonly Wire[]
  abilities: Partial<ModelAbilities>
}

/** The first fitting row counts. */
const rows: readonly Row[] = []
