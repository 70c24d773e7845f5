import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { formatProblems, loadAgentConfig, toAgentConfig } from '../configuration/parse.ts'
import { ServiceError } from '../errors.ts'
import { ConfigError } from '../configuration/problems.ts'
import type { ConfigurationStore } from '../configuration/configuration-store.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { parseSource, type ConfigContent, type ConfigurationSource } from '../configuration/change/change.ts'
import { createGate, type FindEvidence, type GateRefusal } from '../configuration/change/gate.ts'
import { contentOf, sourceOf } from '../configuration/file/file-record.ts'
import { pinsOf, withNewModules, type SkillPins } from '../configuration/skills/pins.ts'
import { readSkills } from '../configuration/skills/skill.ts'
import { exists } from '../service/checks/installation.ts'
import { createFindEvidence } from '../service/gate.ts'
import type { Settings } from '../settings/settings.ts'
import { openConfigurationStore } from '../store/configuration/configurations.ts'
import { query, type Database } from '../store/database.ts'
import { openDatabase } from '../store/open.ts'
import { aliveProcesses } from '../store/leases/processes.ts'
import { createSecretBox, plainBox } from '../store/secrets/secret-box.ts'
import { createAgentFiles } from '../tools/agent-files.ts'
import { CommandFailure } from './terminal.ts'

/**
 * The configuration in effect: with Postgres the newest version in the database, if any; else the file, or the recorded version where the file has
 * an edit that has not passed the gate of the record.
 */
interface UsedConfiguration {
  config: AgentConfig
  /** Present if the configuration is from the database. */
  version?: string
}

/** Throws `ConfigError`, or the error of an unreachable database. */
export async function loadUsedConfiguration(settings: Settings): Promise<UsedConfiguration> {
  if (settings.databaseUrl !== undefined) {
    const stored = await withConfigurations(settings, findUsed)
    return stored ?? { config: await loadAgentConfig(settings.agentConfig) }
  }
  const config = await loadAgentConfig(settings.agentConfig)
  const gated = await withGate(settings, async (found) => found)
  return gated?.refusal && gated.isEdited ? { config: gated.running.config, version: gated.version } : { config }
}

/** Calls `use` with the database, and closes the database afterwards. */
export async function withDatabase<T>(settings: Settings, use: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(settings)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** Calls `use` with the recorded configurations: of all processes, or of the file where there is no shared database. */
export async function withConfigurations<T>(
  settings: Settings,
  use: (store: ConfigurationStore, database: Database) => Promise<T>,
): Promise<T> {
  const box = settings.databaseUrl === undefined ? plainBox : createSecretBox(settings.secretKeys)
  return withDatabase(settings, async (database) =>
    use(await openConfigurationStore(database, { box, adminTenant: settings.adminTenant, now: Date.now }), database),
  )
}

/** The files of the skills and pinned modules of a configuration, beside agent.yaml. */
export async function pinsHere({ agentConfig }: Pick<Settings, 'agentConfig'>, config: AgentConfig): Promise<SkillPins> {
  return pinsOf(await readSkills(createAgentFiles({ configDir: path.dirname(path.resolve(agentConfig)) }), config))
}

interface GatedConfiguration {
  running: ConfigContent
  /** The accepted files. */
  pins: SkillPins
  version: string
  find: FindEvidence
  /** Why an edit of the file, or of files of skills and modules, is not in effect. */
  refusal: GateRefusal | undefined
  /** False where the file holds the recorded text, and only files beside the text may have changed. */
  isEdited: boolean
}

/** Calls `use` with the recorded configuration. Undefined without a gate, and without a database that can be read. */
export async function withGate<T>(settings: Settings, use: (gated: GatedConfiguration) => Promise<T>): Promise<T | undefined> {
  if (!(await isPrepared(settings).catch(() => false))) return undefined
  return withConfigurations(settings, async (store, database) => {
    const newest = await store.newest()
    const running = newest && contentOf(newest)
    if (!newest || !running?.config.releases?.gate) return undefined
    const find = createFindEvidence(database, settings.adminTenant)
    const pins = withNewModules(newest.skills, await pinsHere(settings, running.config))
    const edited = await findEdit(store, settings)
    const after = edited ?? running
    const next = { stored: after, used: after, pins: await pinsHere(settings, after.config) }
    const refusal = await createGate({ find, now: Date.now })({ stored: running, used: running, pins }, next)
    return use({ running, pins, version: newest.version, find, refusal, isEdited: edited !== undefined && edited.text !== newest.text })
  }).catch(() => undefined)
}

/** True if a service has made the database. */
export async function isPrepared({ databaseUrl, dataDir }: Settings): Promise<boolean> {
  if (databaseUrl === undefined) return exists(path.join(dataDir, 'agent-core.db'))
  const inspect = await import('../store/postgres/inspect.ts')
  return inspect.isPrepared(databaseUrl)
}

/** The configuration of the file, where the file may hold an edit that is not in effect. */
async function findEdit(store: ConfigurationStore, { agentConfig, databaseUrl }: Settings): Promise<ConfigurationSource | undefined> {
  const text = await readFile(agentConfig, 'utf8').catch(() => undefined)
  // The file of a replica may hold an earlier text of the shared configuration.
  if (text === undefined || (databaseUrl !== undefined && (await store.seenAt(text)) !== undefined)) return undefined
  return sourceOf({ text })
}

async function findUsed(store: ConfigurationStore, database: Database): Promise<UsedConfiguration | undefined> {
  const newest = await store.newest()
  if (!newest) return undefined
  const { version, text, used } = newest
  // `used` has changes kept only in the memory of the processes: without a running process they are gone.
  if (used && (await isServed(database))) return { config: toAgentConfig(used), version }
  return { config: parseSource(text).config, version }
}

async function isServed(database: Database): Promise<boolean> {
  return (await query(database.all.read, aliveProcesses(database).limit(1))).rows.length > 0
}

/** Converts a `ConfigError` to a failure with a line for each fault, and the refusal of a gate to one with its reason. */
export function toFailure(code: 1 | 2, { agentConfig }: Settings, error: unknown): unknown {
  if (error instanceof ServiceError && error.code === 'gate_not_passed') return new CommandFailure(code, [error.message])
  return error instanceof ConfigError ? new CommandFailure(code, formatProblems(agentConfig, error)) : error
}
