import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from 'pino'
import { findFaultyTools, type AgentParts } from '../configuration/agent.ts'
import { createAgents, type Agents } from '../configuration/agents.ts'
import { runsCode } from '../configuration/change/code-rule.ts'
import type { ConfigurationFile } from '../configuration/configuration-file.ts'
import type { Configuration, ConfigurationDependencies } from '../configuration/configuration.ts'
import { createFileConfiguration } from '../configuration/file-configuration.ts'
import { configVersion } from '../configuration/parse.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { openSharedConfiguration } from '../configuration/shared/shared-configuration.ts'
import { parseSource } from '../configuration/source.ts'
import { checkModels } from '../models/check-models.ts'
import { createConnections, type Connections } from '../models/connections.ts'
import { createModels, createSmallModel } from '../models/create-model.ts'
import { createEmbedder } from '../models/embeddings/create-embedder.ts'
import type { Bus } from '../replicas/bus.ts'
import type { Settings } from '../settings/settings.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { openConfigurationStore } from '../store/configurations.ts'
import type { Database } from '../store/database.ts'
import { createPresence } from '../store/leases/presence.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import { createToolCatalogs, type ToolCatalogs } from '../tools/catalog.ts'

interface AgentsOptions {
  settings: Settings
  environment: Environment
  /** What tools are made with. */
  tools: Pick<Parameters<typeof createToolCatalogs>[0], 'files' | 'cacheDir' | 'outbound'>
  /** Where several processes have one configuration. */
  shared: Shared | undefined
  /** Whether a shared database without a configuration begins with the sample. */
  mayMakeSample: boolean
  now(): number
  newId(): string
  log: Logger
}

interface Shared {
  database: Database
  box: SecretBox
  /** Of this process. */
  id: string
  bus: Bus
}

interface OpenAgents {
  agents: Agents
  configuration: Configuration
  /** From now on the file is followed. */
  follow(): void
}

/** Wires the configuration to what is made of it. Throws `ConfigError` for one that can't be used. */
export async function openAgents(stack: AsyncDisposableStack, options: AgentsOptions): Promise<OpenAgents> {
  const { settings, environment, tools, now, newId, log } = options
  const file = createConfigurationFile(settings.agentConfig, settings.dataDir)
  const connections = stack.adopt(createConnections(), (one) => one.close())
  const catalogs = createToolCatalogs({ ...tools, configDir: path.dirname(path.resolve(settings.agentConfig)), environment, log })
  const making = { environment, connections, catalogs }
  const common = {
    ...{ file, now, log, newVersion: newId },
    createAgent: (config: AgentConfig, version: string) => createParts(config, version, making),
    tryOut: (config: AgentConfig) => tryOut(config, making),
    rules: { allowedReferences: settings.configEnv, mayBringCode: settings.configCode === 'allow' },
  }
  if (!options.shared) return openOwn(stack, common)
  const sample = () => (options.mayMakeSample ? readFile(sampleConfig, 'utf8') : refuseSample(settings.agentConfig))
  return openShared(stack, options.shared, { ...common, sample })
}

type Common = ConfigurationDependencies & { file: ConfigurationFile }

/** What the file holds counts. */
async function openOwn(stack: AsyncDisposableStack, common: Common): Promise<OpenAgents> {
  const { file, log, createAgent } = common
  const source = parseSource(await file.read())
  const first = createAgent(source.config, configVersion(source.config))
  const agents = createAgents(first, { onError: (err) => log.error({ err }, 'A tool could not be closed') })
  stack.adopt(agents, (one) => one.close())
  const configuration = stack.adopt(createFileConfiguration({ ...common, agents, source }), (one) => one.close())
  const follow = () =>
    void stack.adopt(
      file.watch(() => void configuration.reload()),
      (watching) => watching.close(),
    )
  return { agents, configuration, follow }
}

/** What the database holds counts, for all processes. */
async function openShared(
  stack: AsyncDisposableStack,
  { database, box, id, bus }: Shared,
  common: Common & { sample(): Promise<string> },
): Promise<OpenAgents> {
  const store = await openConfigurationStore(database, { box, now: common.now })
  const presence = createPresence(database, { id, bus })
  const shared = await openSharedConfiguration({ ...common, store, bus, hasOthers: presence.hasOthers })
  stack.adopt(shared.agents, (one) => one.close())
  const configuration = stack.adopt(shared, (one) => one.close())
  const follow = () => {
    stack.defer(presence.answer())
    shared.follow()
  }
  return { agents: shared.agents, configuration, follow }
}

/** What `serve --init` begins with. */
const sampleConfig = new URL('../../samples/agent.yaml', import.meta.url)

async function refuseSample(agentConfig: string): Promise<never> {
  const advice = 'Name a file by AGENT_CONFIG, or run "agent-core serve --init", which begins with a sample.'
  throw new Error(`The database has no configuration yet, and ${agentConfig} does not exist. ${advice}`)
}

interface AgentMaking {
  environment: Environment
  connections: Connections
  catalogs: ToolCatalogs
}

/** A configuration ready to run. Throws `ConfigError` for models that can't be made; tools that can't be are listed so. */
function createParts(config: AgentConfig, version: string, making: AgentMaking): AgentParts {
  const model = createModels(config.llms, making)
  const small = createSmallModel(config.llms, making)
  const embedder = createEmbedder(config.llms.embedding, making)
  return { version, config, model, small, embedder, tools: making.catalogs.open(config.tools, config.approvals) }
}

/** The models for answers are asked all at once, and then the one for embeddings. */
const tryModelMs = 5000

/** Asks the models, and makes the tools that need no command and no code of others; what does not work, a line each. */
async function tryOut(config: AgentConfig, making: AgentMaking): Promise<string[]> {
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
