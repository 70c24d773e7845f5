import { sql, type Kysely } from 'kysely'

/** The migrations of builds before the first release, in order. `0001-schema` stands for all of them. */
export const joinedMigrations: readonly string[] = [
  '0001-initial',
  '0002-interface',
  '0003-approvals',
  '0004-shared-state',
  '0005-run-jobs',
  '0006-run-tails',
  '0007-retention',
  '0009-log-counts',
  '0010-run-losses',
  '0011-console',
  '0012-run-lists',
  '0014-artifacts-and-series',
  '0015-tool-pins',
  '0016-lighter-run-lists',
  '0017-client-tools',
  '0018-conversations',
  '0020-task-notifications',
  '0023-uploads',
  '0024-knowledge',
  '0025-search-vectors',
  '0026-notification-attempts',
  '0027-unstored-runs',
  '0028-uploads',
  '0029-runs-by-version',
  '0030-document-passages',
  '0031-tool-errors',
  '0032-key-creators',
  '0033-session-search',
]

/**
 * Takes over a database of an unreleased build: with all joined migrations the database has the tables of `0001-schema`. Throws when some are
 * missing. May be repeated, also after a crash in between, and is without effect on other databases.
 */
export async function adoptUnreleased(db: Kysely<never>, executed: readonly string[]): Promise<void> {
  if (!executed.some((name) => joinedMigrations.includes(name))) return
  const missing = joinedMigrations.filter((name) => !executed.includes(name))
  if (missing.length > 0) {
    throw new Error(
      `The database belongs to an unreleased build of agent-core, and lacks ${missing.length} of its migrations (${missing[0]} is the first). ` +
        `Start a build that has the migration ${joinedMigrations.at(-1)} on it once, or use a new database.`,
    )
  }
  const now = new Date().toISOString()
  await sql`insert into kysely_migration (name, timestamp) values ('0001-schema', ${now}) on conflict do nothing`.execute(db)
  await sql`delete from kysely_migration where name in (${sql.join(joinedMigrations)})`.execute(db)
}
