import type { Model, ModelReply } from '../agent/model.ts'
import type { JsonObject } from '../agent/messages.ts'
import { abilitiesOf, type ModelAbilities, wireOf } from '../configuration/models/abilities.ts'
import {
  isAiSdkProvider,
  providers,
  type AiSdkProvider,
  type ChatCompletionsProvider,
  type ChatCompletionsTraits,
} from '../configuration/providers.ts'
import { ConfigError, formatPath, problemAt, type Path } from '../configuration/problems.ts'
import { resolveReferences, type Environment } from '../configuration/references.ts'
import type { AgentConfig, ModelConfig } from '../configuration/schema.ts'
import { toAiSdkModel, toResponsesModel, type ModelLine } from './ai-sdk/providers.ts'
import { createChatCompletionsModel, type RequestSettings } from './chat-completions/chat-completions.ts'
import type { Connections, Timeouts } from './connections.ts'
import { resolveAccess, toKeyHeader, toWireUrl } from './model-access.ts'
import { withRefusals, withRetry, type RetryOptions } from './retry.ts'
import { messageOf } from '../errors.ts'

export interface ModelDependencies {
  /** Values for `${NAME}` in keys, headers and addresses. */
  environment: Environment
  /** Shared by all models of the service, which closes them. */
  connections: Connections
  retry?: Partial<RetryOptions>
}

/** Combines the primary model and its fallbacks. Throws a `ConfigError` with the faulty fields of the first faulty model. */
export function createModels(llms: AgentConfig['llms'], deps: ModelDependencies): Model {
  const { primary, fallback } = llms
  const configs: [Path, ModelConfig][] = [
    [['llms', 'primary'], primary],
    ...fallback.map((config, index): [Path, ModelConfig] => [['llms', 'fallback', index], config]),
  ]
  const models = configs.map(([at, config], index) =>
    placed(
      llms,
      at,
      config,
      withPath(at, () => createModel(config, deps, { isFallback: index > 0 })),
    ),
  )
  return withRetry(models, deps.retry)
}

/** The model for background work: `llms.small`, or else the primary model. Undefined if that is the embedded model. */
export function createSmallModel(llms: AgentConfig['llms'], deps: ModelDependencies): Model | undefined {
  const { primary, small = primary } = llms
  if (small.provider === 'embedded') return undefined
  const at = ['llms', small === primary ? 'primary' : 'small']
  return withRetry(
    [
      placed(
        llms,
        at,
        small,
        withPath(at, () => createModel(small, deps)),
      ),
    ],
    deps.retry,
  )
}

/**
 * Lets a model whose name belongs to an earlier model in agent.yaml state the place of the model in the usage: the two may have
 * different prices.
 */
function placed({ primary, fallback, small }: AgentConfig['llms'], at: Path, config: ModelConfig, model: Model): Model {
  const first = [primary, ...fallback, small].find((other) => other?.model === config.model)
  if (first === config) return model
  const place = formatPath(at)
  async function reply(...asked: Parameters<Model['reply']>): Promise<ModelReply> {
    const made = await model.reply(...asked)
    return { ...made, usage: { ...made.usage, place } }
  }
  return { ...model, place, reply }
}

/** Creates the adapter of a configured model, without retries. Throws an `Error` such as `api_key: required by openai`. */
export function createModel(config: ModelConfig, deps: ModelDependencies, { isFallback = false } = {}): Model {
  if (config.provider === 'embedded') return toEmbeddedModel(config.model, { writes: !isFallback || config.write_tools === true })
  const access = resolveAccess(config, (text) => resolveReferences(text, deps.environment))
  const { max_output_tokens: maxOutputTokens, reasoning_tokens: reasoningTokens } = config
  const adapter = toAdapter(config.provider, config, { access, connections: deps.connections, timeouts: toTimeouts(config) })
  return { ...withRefusals(adapter), maxOutputTokens, reasoningTokens }
}

/** The embedded model is a program beside the service: `demo-model/` is loaded by the first request. */
function toEmbeddedModel(name: string, options: { writes: boolean }): Model {
  return {
    name,
    seesImages: false,
    async reply(request, sink, signal) {
      const { createDemoModel } = await import('../../demo-model/demo-model.ts')
      return createDemoModel(name, options).reply(request, sink, signal)
    },
  }
}

function toAdapter(provider: AiSdkProvider | ChatCompletionsProvider, config: ModelConfig, line: ModelLine): Model {
  if (isAiSdkProvider(provider)) return toAiSdkModel(provider, config, line)
  return wireOf(config) === 'responses' ? toResponsesModel(provider, config, line) : toChatCompletionsModel(provider, config, line)
}

/** Calls `make`, and adds the path of the configuration to its errors. */
export function withPath<T>(at: Path, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new ConfigError([problemAt(at, messageOf(error))])
  }
}

function toChatCompletionsModel(provider: ChatCompletionsProvider, config: ModelConfig, { access, ...line }: ModelLine): Model {
  const { apiKey, headers, origin } = access
  return createChatCompletionsModel({
    ...toConfiguredOptions(provider, config),
    ...line,
    url: toWireUrl(provider, config, access.baseUrl, 'chat/completions'),
    headers: { ...toKeyHeader(provider, apiKey), ...headers },
    origin,
  })
}

function toTimeouts({ connect_timeout = 10, first_token_timeout = 120, idle_timeout = 60 }: ModelConfig): Timeouts {
  return { connectMs: connect_timeout * 1000, firstTokenMs: first_token_timeout * 1000, idleMs: idle_timeout * 1000 }
}

/** The options of a model on chat completions that agent.yaml and the table of abilities decide. */
export function toConfiguredOptions(
  provider: ChatCompletionsProvider,
  config: ModelConfig,
): RequestSettings & Pick<Model, 'seesImages' | 'readsFiles'> {
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
