import type { Environment } from '../configuration/references.ts'
import type { Connections } from '../models/connections.ts'
import type { ToolCatalogs } from '../tools/catalog.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { type AgentParts, findFaultyTools } from '../configuration/agent.ts'
import { createSmallModel, createModels } from '../models/create-model.ts'
import { createEmbedder } from '../models/embeddings/create-embedder.ts'
import { createFindPrices } from '../models/find-prices.ts'
import { runsCode } from '../configuration/change/rules.ts'
import { checkModels } from '../models/check-models.ts'

interface AgentMaking {
  environment: Environment
  connections: Connections
  catalogs: ToolCatalogs
}

/**
 * Makes the parts of an agent from a configuration. Throws `ConfigError` for unusable models; unusable tools are listed
 * with their error.
 */
export function createParts(config: AgentConfig, version: string, making: AgentMaking): AgentParts {
  const model = createModels(config.llms, making)
  const small = createSmallModel(config.llms, making)
  const embedder = createEmbedder(config.llms.embedding, making)
  const findPrices = createFindPrices(config.llms, making.environment)
  return { version, config, model, small, embedder, findPrices, tools: making.catalogs.open(config.tools, config.approvals) }
}

/** Time limit: models for answers are checked in parallel, then the embedding model. */
const tryModelMs = 5000

/** Tries the models, and all tools without commands and foreign code; returns a line per failure. */
export async function tryOut(config: AgentConfig, making: AgentMaking): Promise<string[]> {
  createModels(config.llms, making)
  createSmallModel(config.llms, making)
  createEmbedder(config.llms.embedding, making)
  const tools = making.catalogs.open(config.tools.filter((tool) => !runsCode(tool)))
  try {
    const [models] = await Promise.all([checkModels(config, { environment: making.environment, timeoutMs: tryModelMs }), tools.settling()])
    return [...models.flatMap(({ state, text }) => (state === 'ok' ? [] : [text])), ...findFaultyTools(tools)]
  } finally {
    await tools.close()
  }
}
