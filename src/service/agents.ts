import path from 'node:path'
import type { Logger } from 'pino'
import { findFaultyTools, type AgentParts } from '../configuration/agent.ts'
import { createAgents, type Agents } from '../configuration/agents.ts'
import { runsCode } from '../configuration/change/code-rule.ts'
import { createConfiguration, parseSource, type Configuration } from '../configuration/configuration.ts'
import { configVersion } from '../configuration/parse.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { checkModels } from '../models/check-models.ts'
import { createConnections, type Connections } from '../models/connections.ts'
import { createModels, createSmallModel } from '../models/create-model.ts'
import { createEmbedder } from '../models/embeddings/create-embedder.ts'
import type { Settings } from '../settings.ts'
import { createConfigurationFile } from '../store/configuration-file.ts'
import { createToolCatalogs, type ToolCatalogs } from '../tools/catalog.ts'

interface AgentsOptions {
  settings: Settings
  environment: Environment
  /** What tools are made with. */
  tools: Pick<Parameters<typeof createToolCatalogs>[0], 'files' | 'cacheDir' | 'outbound'>
  now(): number
  newId(): string
  log: Logger
}

interface OpenAgents {
  agents: Agents
  configuration: Configuration
  /** From now on the file is followed. */
  follow(): void
}

/** Wires the configuration to what is made of it. Throws `ConfigError` for a file that holds none that can be used. */
export async function openAgents(stack: AsyncDisposableStack, options: AgentsOptions): Promise<OpenAgents> {
  const { settings, environment, tools, now, newId, log } = options
  const file = createConfigurationFile(settings.agentConfig, settings.dataDir)
  const source = parseSource(await file.read())
  const connections = stack.adopt(createConnections(), (one) => one.close())
  const making = {
    environment,
    connections,
    catalogs: createToolCatalogs({ ...tools, configDir: path.dirname(path.resolve(settings.agentConfig)), environment, log }),
  }
  const first = createParts(source.config, configVersion(source.config), making)
  const agents = createAgents(first, { onError: (err) => log.error({ err }, 'A tool could not be closed') })
  stack.adopt(agents, (one) => one.close())
  const configuration = createConfiguration({
    ...{ agents, file, source, now, log, newVersion: newId },
    createAgent: (config, version) => createParts(config, version, making),
    tryOut: (config) => tryOut(config, making),
    rules: { allowedReferences: settings.configEnv, mayBringCode: settings.configCode === 'allow' },
  })
  stack.adopt(configuration, (one) => one.close())
  const follow = () =>
    void stack.adopt(
      file.watch(() => void configuration.reload()),
      (watching) => watching.close(),
    )
  return { agents, configuration, follow }
}

interface Making {
  environment: Environment
  connections: Connections
  catalogs: ToolCatalogs
}

/** A configuration ready to run. Throws `ConfigError` for models that can't be made; tools that can't be are listed so. */
function createParts(config: AgentConfig, version: string, making: Making): AgentParts {
  const model = createModels(config.llms, making)
  const small = createSmallModel(config.llms, making)
  const embedder = createEmbedder(config.llms.embedding, making)
  return { version, config, model, small, embedder, tools: making.catalogs.open(config.tools, config.approvals) }
}

/** The models for answers are asked all at once, and then the one for embeddings. */
const tryModelMs = 5000

/** Asks the models, and makes the tools that need no command and no code of others; what does not work, a line each. */
async function tryOut(config: AgentConfig, making: Making): Promise<string[]> {
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
