import { sql, type Kysely } from 'kysely'

/**
 * Fewer and quieter indexes for the lists of runs. Each chat writes its entry of two of them when it starts. Their conditions and columns
 * never change before a run is removed, so the end of a successful chat touches neither: SQLite rewrites the entry of every index that
 * names an updated column. Listed runs are those with a `sub`; direct tool executions and tombstones have none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await sql`update runs set sub = null where status = 'gone'`.execute(db)
  for (const index of ['runs_listed', 'runs_listed_by_sub', 'runs_listed_by_version', 'runs_listed_by_status'])
    await schema.dropIndex(index).execute()
  const position = ['created_at', 'request_id', 'owner', 'operation'] as const
  const isListed = sql<boolean>`sub is not null`
  await schema
    .createIndex('runs_listed')
    .on('runs')
    .columns(['tenant', ...position])
    .where(isListed)
    .execute()
  await schema
    .createIndex('runs_listed_by_sub')
    .on('runs')
    .columns(['tenant', 'sub', ...position])
    .where(isListed)
    .execute()
  await schema
    .createIndex('runs_listed_by_status')
    .on('runs')
    .columns(['tenant', 'status', ...position, 'sub', 'config_version'])
    .where(sql<boolean>`sub is not null and status not in ('success', 'gone', 'pending', 'running')`)
    .execute()
}
