import path from 'node:path'
import { messageWithCause } from '../../errors.ts'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { openDatabase } from '../../store/open.ts'
import { exists } from './installation.ts'
import type { PostgresState } from '../../store/postgres/inspect.ts'

/** Checks the database without creating one. */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  if (settings.databaseUrl !== undefined) return checkPostgres(settings.databaseUrl, settings)
  if (!(await exists(path.join(settings.dataDir, 'agent-core.db'))))
    return [{ state: 'ok', text: 'store: SQLite, created by the first start' }]
  return checkSqlite(async () => {
    const database = await openDatabase(settings)
    try {
      await database.ping()
    } finally {
      await database.close()
    }
  })
}

/** Checks that SQLite answers. `ping` opens the database if necessary. */
export async function checkSqlite(ping: () => Promise<void>): Promise<Finding[]> {
  try {
    await ping()
    return [{ state: 'ok', text: 'store: SQLite opens, and its tables are up to date' }]
  } catch (error) {
    const advice = 'Restore DATA_DIR from a backup, or use the version of agent-core that wrote it.'
    return [{ state: 'fail', text: `store: SQLite: ${messageWithCause(error)}`, advice }]
  }
}

/** Checks a Postgres server over a connection of its own. */
export async function checkPostgres(url: string, settings: Settings): Promise<Finding[]> {
  const { inspectPostgres } = await import('../../store/postgres/inspect.ts')
  try {
    return toFindings(await inspectPostgres(url), settings)
  } catch (error) {
    const advice = 'Check that the server runs and that DATABASE_URL is right. Its user must be able to create tables.'
    return [{ state: 'fail', text: `store: Postgres: ${messageWithCause(error)}`, advice }]
  }
}

/** Findings of `doctor` about a Postgres server. */
function toFindings(state: PostgresState, settings: Pick<Settings, 'databaseConnections' | 'workers'>): Finding[] {
  return [toVersion(state), ...toRowSecurity(state), ...toConnectionBudget(state, settings)]
}

function toVersion({ version, isSupported, roundTripMs, user, pending, later }: PostgresState): Finding {
  const text = `store: Postgres ${version} as user ${user}, ${roundTripMs.toFixed(1)} ms away`
  if (!isSupported) return { state: 'fail', text, advice: 'Postgres must be version 14 or later.' }
  if (later.length > 0) {
    const advice = 'Start that version, or restore a backup.'
    return { state: 'fail', text: `${text}; a later version of agent-core has migrated it (${later.join(', ')})`, advice }
  }
  if (!pending) return { state: 'ok', text: `${text}; its tables are created by the first start` }
  if (pending.length === 0) return { state: 'ok', text: `${text}; its tables are up to date` }
  return { state: 'ok', text: `${text}; the next start, or "agent-core db migrate", brings it up to date (${pending.join(', ')})` }
}

function toRowSecurity({ user, role, canUseRole, unprotected: open, pending }: PostgresState): Finding[] {
  if (role !== undefined && !canUseRole) {
    const advice = `Use a user that is neither superuser nor BYPASSRLS, or let a superuser run: create role ${role} nologin; grant ${role} to "${user}"`
    return [
      { state: 'fail', text: `row-level security: user ${user} bypasses the policies and lacks the right to use the role ${role}`, advice },
    ]
  }
  const subject = role === undefined ? `user ${user}` : `the role ${role}, which runs the queries`
  if (!pending || pending.length > 0) return [{ state: 'ok', text: `row-level security: applies to ${subject}` }]
  if (open.length === 0) return [{ state: 'ok', text: `row-level security: applies to ${subject}, on every table with a tenant` }]
  return [
    {
      state: 'warn',
      text: `row-level security: missing on ${open.join(', ')}`,
      advice: 'The next start adds the policies again. Find out why the policies were removed.',
    },
  ]
}

/** Each process needs `databaseConnections`, and a connection that listens. */
function toConnectionBudget(
  { maxConnections }: PostgresState,
  { databaseConnections, workers }: Pick<Settings, 'databaseConnections' | 'workers'>,
): Finding[] {
  const neededConnections = workers * (databaseConnections + 1)
  if (neededConnections <= maxConnections) return []
  const advice = 'Raise max_connections of the server, or lower DATABASE_CONNECTIONS. Each replica needs as many.'
  return [
    {
      state: 'warn',
      text: `store: this service may open ${neededConnections} connections, but the server accepts ${maxConnections}`,
      advice,
    },
  ]
}
