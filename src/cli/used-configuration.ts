import { formatProblems, loadAgentConfig, toAgentConfig } from '../configuration/parse.ts'
import { ServiceError } from '../errors.ts'
import { ConfigError } from '../configuration/problems.ts'
import type { ConfigurationStore } from '../configuration/configuration-store.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { parseSource } from '../configuration/change/change.ts'
import type { Settings } from '../settings/settings.ts'
import { openConfigurationStore } from '../store/configuration/configurations.ts'
import { query, type Database } from '../store/database.ts'
import { openDatabase } from '../store/open.ts'
import { aliveProcesses } from '../store/leases/processes.ts'
import { createSecretBox } from '../store/secrets/secret-box.ts'
import { CommandFailure } from './terminal.ts'

/** The configuration in effect: with Postgres the newest version in the database, if any; else the file. */
interface UsedConfiguration {
  config: AgentConfig
  /** Present if the configuration is from the database. */
  version?: string
}

/** Throws `ConfigError`, or the error of an unreachable database. */
export async function loadUsedConfiguration(settings: Settings): Promise<UsedConfiguration> {
  const stored = settings.databaseUrl === undefined ? undefined : await withConfigurations(settings, findUsed)
  return stored ?? { config: await loadAgentConfig(settings.agentConfig) }
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

/** Calls `use` with the configuration store of the database. */
export async function withConfigurations<T>(
  settings: Settings,
  use: (store: ConfigurationStore, database: Database) => Promise<T>,
): Promise<T> {
  const box = createSecretBox(settings.secretKeys)
  return withDatabase(settings, async (database) =>
    use(await openConfigurationStore(database, { box, adminTenant: settings.adminTenant, now: Date.now }), database),
  )
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
