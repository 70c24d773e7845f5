import { abilitiesOf, type ModelAbilities, sourceOfAbilities, wireOf, type Wire } from './abilities.ts'
import { noAbilities } from './row.ts'
import type { ModelConfig } from '../model-schema.ts'
import { problemAt, type ConfigProblem, type Path } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'

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
  return { name: 'embedding', at: ['llms', 'embedding'], config, wire: 'embeddings', abilities: noAbilities, source: 'default' }
}

/**
 * Settings that a model does not have, each with its path. Such a configuration is valid, because the service's knowledge of a model may be
 * older than the model, but the setting may have no effect, or the provider may refuse it.
 */
export function findModelOddities(config: AgentConfig): ConfigProblem[] {
  const models = listModels(config.llms).filter(({ name }) => name !== 'embedding')
  const answering = models.filter(({ name }) => name !== 'small')
  return [
    ...models.flatMap(findOddities),
    ...(config.tools.length > 0 ? answering.flatMap(findMissingTools) : []),
    ...findMissingProviderTools(config, answering),
  ]
}

/** As lines, such as `llms.primary.cache: ...`. */
export function describeOddities(config: AgentConfig): string[] {
  return findModelOddities(config).map(({ path, message }) => `${path}: ${message}`)
}

type Field = 'base_url' | 'reasoning_effort' | 'reasoning_tokens' | 'reasoning_summary' | 'images' | 'cache'

function findOddities({ at, config }: ListedModel): ConfigProblem[] {
  const abilities = abilitiesOf(config)
  return (Object.keys(rules) as Field[]).flatMap((field) => {
    const message = rules[field](config, abilities)
    return message === undefined ? [] : [problemAt([...at, field], message)]
  })
}

/** What is odd about the setting of a model; undefined for a setting that the model has, or that is absent. */
const rules: Record<Field, (config: ModelConfig, abilities: ModelAbilities) => string | undefined> = {
  base_url({ provider, base_url: address, wire }) {
    if (provider !== 'openai' || address === undefined || wire !== undefined || address.includes('openai.com')) return undefined
    return 'this server is asked on the responses API; set wire: chat-completions if the server has chat completions only'
  },
  reasoning_effort({ model, reasoning_effort: effort }, { efforts }) {
    if (effort === undefined || efforts.includes(effort)) return undefined
    if (efforts.length === 0) return `${model} has no reasoning effort`
    return `"${effort}" is no effort of ${model}, which has ${efforts.join(', ')}`
  },
  reasoning_tokens({ model, reasoning_tokens: tokens }, { reasoningTokens, efforts }) {
    if (tokens === undefined || reasoningTokens) return undefined
    return `${model} has no limit of reasoning in tokens${efforts.length > 0 ? '; use reasoning_effort' : ''}`
  },
  reasoning_summary: ({ model, reasoning_summary: summary }, { reasoningSummary }) =>
    summary === 'on' && !reasoningSummary ? `${model} sends no reasoning` : undefined,
  images: ({ model, images }, abilities) => (images === true && !abilities.images ? `${model} accepts no images` : undefined),
  cache: ({ model, cache }, abilities) =>
    cache === 'on' && abilities.cache === 'none' ? `${model} has no prompt cache that the service knows of` : undefined,
}

function findMissingTools({ at, config, abilities }: ListedModel): ConfigProblem[] {
  return abilities.tools ? [] : [problemAt([...at, 'model'], `${config.model} calls no tools, but tools are configured`)]
}

/** Tools of providers that a model which may answer does not have: the model is then not offered the tool. */
function findMissingProviderTools({ tools }: AgentConfig, models: readonly ListedModel[]): ConfigProblem[] {
  return tools.flatMap(({ name, type = name, config = {} }, index) => {
    if (type !== 'provider') return []
    const kind = String(config['tool'])
    const lacking = models.filter(({ abilities }) => !abilities.providerTools.includes(kind)).map(({ config: { model } }) => model)
    if (lacking.length === 0) return []
    const at = ['tools', index, 'config', 'tool']
    if (lacking.length === models.length) return [problemAt(at, `"${kind}" is no tool of a configured model (${lacking.join(', ')})`)]
    return [problemAt(at, `"${kind}" is no tool of ${lacking.join(', ')}: a fallback changes what the agent can do`)]
  })
}
