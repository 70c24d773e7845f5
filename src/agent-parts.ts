import { findFaultyTools, type AgentParts } from './configuration/agent.ts'
import { runsCode } from './configuration/change/code-rule.ts'
import type { Environment } from './configuration/references.ts'
import type { AgentConfig } from './configuration/schema.ts'
import { checkModels } from './models/check-models.ts'
import type { Connections } from './models/connections.ts'
import { createModels, createSmallModel } from './models/create-model.ts'
import { createEmbedder } from './models/embeddings/create-embedder.ts'
import type { ToolCatalogs } from './tools/catalog.ts'

export interface AgentPartsDependencies {
  environment: Environment
  connections: Connections
  catalogs: ToolCatalogs
}

/** Makes a configuration ready to run. Throws `ConfigError` for models that can't be made; tools that can't be are listed so. */
export function createAgentParts(config: AgentConfig, version: string, deps: AgentPartsDependencies): AgentParts {
  const model = createModels(config.llms, deps)
  const small = createSmallModel(config.llms, deps)
  const embedder = createEmbedder(config.llms.embedding, deps)
  return { version, config, model, small, embedder, tools: deps.catalogs.open(config.tools) }
}

const tryModelMs = 8000

/**
 * Asks the models, and makes the tools that need no command and no code of others; what does not work, a line each. Throws as
 * `createAgentParts` does.
 */
export async function tryAgent(config: AgentConfig, deps: AgentPartsDependencies): Promise<string[]> {
  createModels(config.llms, deps)
  createSmallModel(config.llms, deps)
  createEmbedder(config.llms.embedding, deps)
  const tools = deps.catalogs.open(config.tools.filter((tool) => !runsCode(tool)))
  try {
    const [models] = await Promise.all([checkModels(config, { environment: deps.environment, timeoutMs: tryModelMs }), tools.settling()])
    return [...models.flatMap(({ state, text }) => (state === 'ok' ? [] : [text])), ...findFaultyTools(tools)]
  } finally {
    await tools.close()
  }
}
