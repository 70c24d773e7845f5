import { abilitiesOf, sourceOfAbilities, wireOf, type ModelAbilities, type Wire } from './model-abilities.ts'
import type { ModelConfig } from './model-schema.ts'
import type { Path } from './problems.ts'
import type { AgentConfig } from './schema.ts'

/** A configured model, with what the service believes of it. */
export interface ListedModel {
  name: 'primary' | 'fallback' | 'small' | 'embedding'
  /** The place in agent.yaml. */
  at: Path
  config: ModelConfig
  wire: Wire | 'embeddings'
  abilities: ModelAbilities
  /** Where the knowledge is from: a row of the table that names the model, or what is assumed of other models. */
  source: 'table' | 'default'
}

/** The configured models, in the order of agent.yaml. */
export function listModels({ primary, fallback, small, embedding }: AgentConfig['llms']): ListedModel[] {
  return [
    toListed('primary', ['llms', 'primary'], primary),
    ...fallback.map((config, index) => toListed('fallback', ['llms', 'fallback', index], config)),
    ...(small ? [toListed('small', ['llms', 'small'], small)] : []),
    ...(embedding ? [toEmbedding(embedding)] : []),
  ]
}

function toListed(name: ListedModel['name'], at: Path, config: ModelConfig): ListedModel {
  const abilities = abilitiesOf(config)
  const source = sourceOfAbilities(config)
  return { name, at, config, wire: wireOf(config), abilities: { ...abilities, images: config.images ?? abilities.images }, source }
}

function toEmbedding(config: ModelConfig): ListedModel {
  return { name: 'embedding', at: ['llms', 'embedding'], config, wire: 'embeddings', abilities: abilitiesOfEmbedding, source: 'default' }
}

/** An embedding model turns texts into vectors, and has nothing of what other models have. */
const abilitiesOfEmbedding: ModelAbilities = {
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
