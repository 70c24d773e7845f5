import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { createAgents, type Agents, type AgentParts, findFaultyTools } from '../configuration/agent.ts'
import type { ConfigurationFile } from '../configuration/configuration-store.ts'
import { describeOddities } from '../configuration/models/findings.ts'
import type { Configuration, ConfigurationDependencies } from '../configuration/configuration.ts'
import { openGate } from './gate.ts'
import { FileConfiguration } from '../configuration/file/file-configuration.ts'
import { createFileRecord } from '../configuration/file/file-record.ts'
import { ConfigError, problemAt } from '../configuration/problems.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { openSharedConfiguration } from '../configuration/shared/shared-configuration.ts'
import { parseSource } from '../configuration/change/change.ts'
import type { OpenAgent } from '../evals/experiments/agents.ts'
import { createConnections, type Connections } from '../models/connections.ts'
import type { Bus, Watch } from '../replicas/bus.ts'
import { packageRoot } from '../package-root.ts'
import type { Settings } from '../settings/settings.ts'
import { createConfigurationFile } from '../store/disk/configuration-file.ts'
import { openConfigurationStore } from '../store/configuration/configurations.ts'
import type { Database } from '../store/database.ts'
import { createPresence } from '../store/leases/presence.ts'
import { plainBox, type SecretBox } from '../store/secrets/secret-box.ts'
import { createToolCatalogs, type ToolCatalogs } from '../tools/catalog.ts'
import { createAgentFiles } from '../tools/agent-files.ts'
import { toAgentSkills, withSkills } from '../tools/skills/skill-tools.ts'
import { areSame, changedSkills, pinnedSkills, pinsOf } from '../configuration/skills/pins.ts'
import { logFaults, readSkills, type SkillSet } from '../configuration/skills/skill.ts'
import { createSmallModel, createModels } from '../models/create-model.ts'
import { createEmbedder } from '../models/embeddings/create-embedder.ts'
import { createFindPrices, findUnpriced } from '../models/find-prices.ts'
import { runsCode } from '../configuration/change/rules.ts'
import { checkModels } from '../models/check-models.ts'

interface AgentsOptions {
  settings: Settings
  environment: Environment
  /** Dependencies of tools. */
  tools: Pick<Parameters<typeof createToolCatalogs>[0], 'files' | 'cacheDir' | 'outbound' | 'search' | 'documents' | 'pins' | 'logins'>
  database: Database
  /** Present when several processes share one configuration. */
  shared: Shared | undefined
  /** True to start a shared database without configuration from the sample. */
  mayMakeSample: boolean
  now(): number
  newId(): string
  log: Logger
}

interface Shared {
  box: SecretBox
  /** Id of this process. */
  id: string
  bus: Bus
  /** Watches the stored configuration. */
  watch: Watch
}

interface OpenAgents extends CurrentAgents {
  /** Makes an agent beside the agent in use. */
  openAgent: OpenAgent
}

interface CurrentAgents {
  agents: Agents
  configuration: Configuration
  /** Starts to follow changes of the configuration. */
  follow(): void
}

/** Wires the configuration to the agents made from it. Throws `ConfigError` for an unusable configuration. */
export async function openAgents(stack: AsyncDisposableStack, options: AgentsOptions): Promise<OpenAgents> {
  const { settings, environment, tools, now, newId, log } = options
  const { adminTenant } = settings
  const file = createConfigurationFile(settings.agentConfig, settings.dataDir)
  const connections = stack.adopt(createConnections(), (opened) => opened.close())
  const configDir = path.dirname(path.resolve(settings.agentConfig))
  const catalogs = createToolCatalogs({ ...tools, configDir, environment, log })
  const making = { environment, connections, catalogs }
  const common = {
    file,
    gate: openGate(options.database, { adminTenant, now }),
    now,
    log,
    newVersion: newId,
    agentFiles: createAgentFiles({ configDir }),
    createAgent(config: AgentConfig, version: string, skills?: SkillSet) {
      const oddities = describeOddities(config)
      if (oddities.length > 0) log.warn({ oddities }, 'Settings of models may have no effect, or may be refused by the provider')
      return createParts(config, version, making, { skills })
    },
    tryOut: (config: AgentConfig) => tryOut(config, making),
    rules: { allowedReferences: settings.configEnv, mayBringCode: settings.configCode === 'allow' },
  }
  const { shared, database } = options
  const sample = () => (options.mayMakeSample ? readFile(sampleConfig, 'utf8') : refuseSample(settings.agentConfig))
  const opened = shared
    ? await openShared(stack, { ...shared, database }, { ...common, adminTenant, sample })
    : await openOwn(stack, database, { ...common, adminTenant })
  return { ...opened, openAgent: createOpenAgent(opened.agents, making, common) }
}

function createOpenAgent({ current }: Agents, making: AgentMaking, { agentFiles, log }: Pick<Common, 'agentFiles' | 'log'>): OpenAgent {
  const onError = (err: unknown) => log.error({ err }, 'A tool could not be closed')
  return async (config, version, pins) => {
    const agent = current()
    if (isDeepStrictEqual(agent.config, config) && (!pins || areSame(pins, pinsOf(agent.skills)))) {
      const release = agent.hold()
      await agent.tools.settling()
      return { agent, close: async () => release() }
    }
    const present = await readSkills(agentFiles, config)
    const skills = pins && present ? pinnedSkills(present, pins) : present
    const missing = pins && changedSkills(pins, pinsOf(skills ? { ...skills, modules: present!.modules } : undefined))
    if (missing && missing.length > 0) throw new ConfigError([problemAt([], `the files have changed since: ${missing.join(', ')}`)])
    const parts = createParts(config, version, making, { isTrial: true, skills })
    await parts.tools.settling()
    const own = createAgents(parts, { onError })
    return { agent: own.current(), close: own.close }
  }
}

type Common = ConfigurationDependencies & { file: ConfigurationFile; adminTenant: string }

/** The configuration of a single process, from the file. */
async function openOwn(stack: AsyncDisposableStack, database: Database, common: Common): Promise<CurrentAgents> {
  const { file, log, createAgent } = common
  const text = parseSource(await file.read())
  // The file holds the same texts without encryption.
  const store = await openConfigurationStore(database, { ...common, box: plainBox })
  const record = createFileRecord({ ...common, name: file.name, store })
  const begun = await record.begin(text, (config) => readSkills(common.agentFiles, config))
  const { version, source, set: skills, save } = begun
  logFaults(log, undefined, skills)
  const first = createAgent(source.config, version, skills)
  await save()
  const agents = createAgents(first, { onError: (err) => log.error({ err }, 'A tool could not be closed') })
  stack.adopt(agents, (opened) => opened.close())
  const options = { ...common, ...begun, agents, store, record, skills }
  const configuration = stack.adopt(new FileConfiguration(options), (opened) => opened.close())
  const follow = () =>
    void stack.adopt(
      file.watch(() => void configuration.reload()),
      (watching) => watching.close(),
    )
  return { agents, configuration, follow }
}

/** The configuration of all processes, from the database. */
async function openShared(
  stack: AsyncDisposableStack,
  { database, box, id, bus, watch }: Shared & { database: Database },
  common: Common & { sample(): Promise<string> },
): Promise<CurrentAgents> {
  const store = await openConfigurationStore(database, { ...common, box })
  const presence = createPresence(database, { id, bus })
  const shared = await openSharedConfiguration({ ...common, store, bus, watch, hasOthers: presence.hasOthers })
  stack.adopt(shared.agents, (agents) => agents.close())
  const configuration = stack.adopt(shared, (opened) => opened.close())
  const follow = () => {
    stack.defer(presence.answer())
    shared.follow()
  }
  return { agents: shared.agents, configuration, follow }
}

/** The sample that `serve --init` starts with. */
const sampleConfig = path.join(packageRoot, 'samples/agent.yaml')

async function refuseSample(agentConfig: string): Promise<never> {
  const advice = 'Name a file in AGENT_CONFIG, or run "agent-core serve --init" to start with a sample.'
  throw new Error(`The database has no configuration yet, and ${agentConfig} does not exist. ${advice}`)
}

interface AgentMaking {
  environment: Environment
  connections: Connections
  catalogs: ToolCatalogs
}

interface PartsUse {
  isTrial?: boolean
  skills?: SkillSet | undefined
}

/**
 * Makes the parts of an agent from a configuration. Throws `ConfigError` for unusable models, and those without the prices that a budget needs; unusable tools are listed
 * with their error.
 */
function createParts(config: AgentConfig, version: string, making: AgentMaking, { skills: set, ...use }: PartsUse = {}): AgentParts {
  refuseUnpriced(config, making)
  const model = createModels(config.llms, making)
  const small = createSmallModel(config.llms, making)
  const embedder = createEmbedder(config.llms.embedding, making)
  const findPrices = createFindPrices(config.llms, making.environment)
  const catalog = making.catalogs.open(config.tools, config.approvals, { ...use, ...(set && { modules: set.modules }) })
  const parts = { version, config, model, small, embedder, findPrices, tools: catalog }
  if (!set) return parts
  const skills = toAgentSkills(set)
  return { ...parts, tools: withSkills(catalog, skills), skills }
}

function refuseUnpriced(config: AgentConfig, { environment }: AgentMaking): void {
  const unpriced = config.budgets ? findUnpriced(config, environment) : []
  if (unpriced.length > 0) throw new ConfigError(unpriced)
}

/** Time limit: models for answers are checked in parallel, then the embedding model. */
const tryModelMs = 5000

/** Tries the models, and all tools without commands and foreign code; returns a line per failure. */
export async function tryOut(config: AgentConfig, making: AgentMaking): Promise<string[]> {
  refuseUnpriced(config, making)
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
