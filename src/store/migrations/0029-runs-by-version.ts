import { sql, type Kysely } from 'kysely'

/**
 * Indexes for the lists of runs by operation and by version of the configuration. Both begin with the filter and have the operation before the
 * order of the list: a list of all operations merges three parts of an index, and a list of a rare operation reads no other runs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const position = ['operation', 'created_at', 'request_id', 'owner'] as const
  const isListed = sql<boolean>`sub is not null`
  await schema.dropIndex('runs_listed').execute()
  await schema
    .createIndex('runs_listed')
    .on('runs')
    .columns(['tenant', ...position])
    .where(isListed)
    .execute()
  await schema
    .createIndex('runs_listed_by_version')
    .on('runs')
    .columns(['tenant', 'config_version', ...position])
    .where(isListed)
    .execute()
}
