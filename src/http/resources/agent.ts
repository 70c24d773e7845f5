import { replies, route, namedObject, object } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { reasoningEfforts } from '../../agent/model.ts'
import { listModels, type ListedModel } from '../../configuration/models/findings.ts'
import { Prices, type ModelPrices } from '../../configuration/model-schema.ts'
import { formatPath } from '../../configuration/problems.ts'

export const Metadata = namedObject('AgentMetadata', {
  body: Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    uri_id: Type.String(),
    conversation_starters: Type.Array(Type.Object({ title: Type.String(), message: Type.String() })),
    capabilities: Type.Array(Type.String()),
  }),
})

const Reasoning = object('How the reasoning of the model is set.', {
  efforts: Type.Array(Type.Enum([...reasoningEfforts]), { description: 'The values of `reasoning_effort` that the model accepts.' }),
  tokens: Type.Boolean({ description: 'Whether the reasoning can be limited by `reasoning_tokens`.' }),
  summary: Type.Boolean({ description: 'Whether the provider sends its reasoning, or a summary of it.' }),
})

const Abilities = Type.Object({
  tools: Type.Boolean({ description: 'Whether the model calls tools.' }),
  parallel_tools: Type.Boolean({ description: 'Whether the model calls several tools at once.' }),
  strict_tools: Type.Boolean({ description: 'Whether the provider enforces the schemas of tools.' }),
  structured_output: Type.Enum(['with_tools', 'without_tools', 'none'], {
    description: 'Whether the provider enforces the schema of an answer: beside tools too, only without tools, or never.',
  }),
  reasoning: Reasoning,
  images: Type.Boolean({ description: 'Whether the model accepts images.' }),
  documents: Type.Boolean({ description: 'Whether the model reads PDF documents itself. Other models get the extracted text.' }),
  audio: Type.Boolean({ description: 'Whether the model hears audio.' }),
  video: Type.Boolean({ description: 'Whether the model sees videos.' }),
  cache: Type.Enum(['automatic', 'marks', 'none'], {
    description: 'The prompt cache of the provider: by itself, by marks that the service sets, or none.',
  }),
  provider_tools: Type.Array(Type.String(), { description: 'The values of `config.tool` of tools that the provider runs.' }),
})

const ConfiguredModel = object('A configured model, and what the service believes of it.', {
  name: Type.Enum(['primary', 'fallback', 'small', 'embedding'], { description: 'The place in `llms` of agent.yaml.' }),
  provider: Type.String(),
  model: Type.String({ description: 'The name of the model at the provider.' }),
  wire: Type.Enum(['chat-completions', 'responses', 'ai-sdk', 'embedded', 'embeddings'], {
    description:
      'The interface on which the model is called; `ai-sdk`: the own interface of the provider, `embedded`: a model of the service itself.',
  }),
  abilities: Abilities,
  prices: Type.Optional(Prices),
  prices_date: Type.Optional(
    Type.String({ format: 'date', description: "The date of the service's price list; absent for prices from agent.yaml." }),
  ),
  source: Type.Enum(['table', 'default'], {
    description:
      '`table`: the service knows the model by its name. `default`: the service assumes what models of the provider commonly have.',
  }),
})

const ModelReply = Type.Object({ models: Type.Array(ConfiguredModel), count: Type.Integer({ minimum: 0 }) })

/** The route of the agent's metadata. */
export function metadataRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  app.get(
    '/core/v1/metadata',
    route('metadata.read', 'Agent', {
      summary: 'Get name, description and capabilities of the agent',
      text: 'What a page about the agent shows: name, description, conversation starters, and what it can do.',
      response: replies({ 200: Metadata }),
    }),
    async () => {
      const { config, tools } = agent()
      const { id, name, description, uri_id, conversation_starters } = config
      const planning = config.workflow_type === 'plan_execute' ? ['planning'] : []
      const capabilities = ['chat', 'streaming', 'sessions', 'sub_agents', ...planning, ...tools.list().map((tool) => `tool:${tool.name}`)]
      return { body: { id, name, description, uri_id, conversation_starters, capabilities } }
    },
  )
}

/** The route of the configured models. */
export function agentModelRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  app.get(
    '/core/v1/agent/models',
    route('metadata.read', 'Agent', {
      summary: 'List the configured models and what each can do',
      text: 'The models of `llms`, in the order in which they answer. What a model can do is from a table of the service, or assumed where the table does not name the model; the service never asks the provider. A setting that a model does not have is a warning of `config check`, of `doctor` and of `PUT /core/v1/agent/config`.',
      response: replies({ 200: ModelReply }),
    }),
    async () => {
      const { config, findPrices } = agent()
      const models = listModels(config.llms).map((listed) => toView(listed, findPrices(listed.config.model, formatPath(listed.at))))
      return { models, count: models.length }
    },
  )
}

function toView(
  { name, config, wire, abilities, source }: ListedModel,
  prices: ModelPrices | undefined,
): Type.Static<typeof ConfiguredModel> {
  const { provider, model } = config
  return {
    name,
    provider,
    model,
    wire,
    abilities: {
      tools: abilities.tools,
      parallel_tools: abilities.parallelTools,
      strict_tools: abilities.strictTools,
      structured_output: abilities.structuredOutput,
      reasoning: { efforts: [...abilities.efforts], tokens: abilities.reasoningTokens, summary: abilities.reasoningSummary },
      images: abilities.images,
      documents: abilities.documents,
      audio: abilities.audio,
      video: abilities.video,
      cache: abilities.cache,
      provider_tools: [...abilities.providerTools],
    },
    ...(prices && { prices: prices.rates }),
    ...(prices?.date !== undefined && { prices_date: prices.date }),
    source,
  }
}
