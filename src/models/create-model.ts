import type { Model, ModelServer } from '../agent/model.ts'
import {
  isAiSdkProvider,
  providers,
  type AiSdkProvider,
  type AiSdkTraits,
  type ChatCompletionsProvider,
} from '../configuration/providers.ts'
import { ConfigError, problemAt, type Path } from '../configuration/problems.ts'
import { resolveReferences, type Environment } from '../configuration/references.ts'
import type { AgentConfig, ModelConfig } from '../configuration/schema.ts'
import { createAiSdkModel } from './ai-sdk/ai-sdk.ts'
import { createModelFetch, loadLanguageModel } from './ai-sdk/providers.ts'
import { createChatCompletionsModel } from './chat-completions/chat-completions.ts'
import { toConfiguredOptions } from './chat-completions/settings.ts'
import type { Connections } from './connections.ts'
import { createDemoModel } from '../demo-model/demo-model.ts'
import type { Timeouts } from './chat-completions/event-stream.ts'
import { resolveAccess, type ModelConnection } from './model-access.ts'
import { withSchemaRefusals } from './schema-refusals.ts'
import { withRetry, type RetryOptions } from './retry.ts'
import { toKeyHeader, toServer, toWireUrl } from './wire-address.ts'
import { messageOf } from '../errors.ts'

export interface ModelDependencies {
  /** Values for `${NAME}` in keys, headers and addresses. */
  environment: Environment
  /** Shared by all models of the service, which closes them. */
  connections: Connections
  retry?: Partial<RetryOptions>
}

/** Combines the primary model and its fallbacks. Throws a `ConfigError` with the faulty fields of the first faulty model. */
export function createModels({ primary, fallback }: Pick<AgentConfig['llms'], 'primary' | 'fallback'>, deps: ModelDependencies): Model {
  const configs: [Path, ModelConfig][] = [
    [['llms', 'primary'], primary],
    ...fallback.map((config, index): [Path, ModelConfig] => [['llms', 'fallback', index], config]),
  ]
  const models = configs.map(([at, config], index) => withPath(at, () => createModel(config, deps, { isFallback: index > 0 })))
  return withRetry(models, deps.retry)
}

/** The model for background work: `llms.small`, or else the primary model. Undefined if that is the embedded model. */
export function createSmallModel({ primary, small = primary }: AgentConfig['llms'], deps: ModelDependencies): Model | undefined {
  if (small.provider === 'embedded') return undefined
  return withRetry([withPath(['llms', small === primary ? 'primary' : 'small'], () => createModel(small, deps))], deps.retry)
}

/** Creates the adapter of a configured model, without retries. Throws an `Error` such as `api_key: required by openai`. */
export function createModel(config: ModelConfig, deps: ModelDependencies, { isFallback = false } = {}): Model {
  if (config.provider === 'embedded') return createDemoModel(config.model, { writes: !isFallback || config.write_tools === true })
  const access = resolveAccess(config, (text) => resolveReferences(text, deps.environment))
  const { provider } = config
  return withSchemaRefusals(
    isAiSdkProvider(provider)
      ? toAiSdkModel(provider, config, access, deps.connections)
      : toChatCompletionsModel(provider, config, access, deps.connections),
  )
}

/** Calls `make`, and adds the path of the configuration to its errors. */
export function withPath<T>(at: Path, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new ConfigError([problemAt(at, messageOf(error))])
  }
}

function toChatCompletionsModel(
  provider: ChatCompletionsProvider,
  config: ModelConfig,
  access: ModelConnection,
  connections: Connections,
): Model {
  const { apiKey, headers, origin } = access
  return createChatCompletionsModel({
    ...toConfiguredOptions(provider, config),
    url: toWireUrl(provider, config, access.baseUrl, 'chat/completions'),
    headers: { ...toKeyHeader(provider, apiKey), ...headers },
    timeouts: toTimeouts(config),
    origin,
    connections,
  })
}

function toAiSdkModel(provider: AiSdkProvider, config: ModelConfig, access: ModelConnection, connections: Connections): Model {
  const timeouts = toTimeouts(config)
  const baseUrl = access.baseUrl?.href.replace(/(?<!\/)\/+$/, '')
  return createAiSdkModel({
    provider,
    model: config.model,
    seesImages: config.images ?? true,
    load: () => loadLanguageModel(provider, config.model, { ...access, baseUrl }, createModelFetch(connections, timeouts.connectMs)),
    settings: { temperature: config.temperature, maxOutputTokens: config.max_output_tokens, reasoning: config.reasoning_effort },
    timeouts,
    origin: access.origin,
    server: access.baseUrl ? toServer(access.baseUrl) : toUsualServer(provider, config),
  })
}

/** The server that a provider's package calls without `base_url`. */
function toUsualServer(provider: AiSdkProvider, { region = '' }: ModelConfig): ModelServer | undefined {
  const { host }: AiSdkTraits = providers[provider]
  // A region given as `${NAME}` is not resolved here, so the server is unknown.
  if (host.includes('{region}') && !/^[a-z0-9-]+$/.test(region)) return undefined
  return { address: host.replace('{region}', region), port: 443 }
}

function toTimeouts({ connect_timeout = 10, first_token_timeout = 120, idle_timeout = 60 }: ModelConfig): Timeouts {
  return { connectMs: connect_timeout * 1000, firstTokenMs: first_token_timeout * 1000, idleMs: idle_timeout * 1000 }
}
