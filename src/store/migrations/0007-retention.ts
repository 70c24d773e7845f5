import { sql, type Kysely } from 'kysely'

/** Indexes by age, so that a search for expired rows reads no others. Sessions, runs and hourly metrics have such indexes already. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('runs').addColumn('gone_at', 'bigint').execute()
  // The age of existing tombstones starts now.
  await sql`update runs set gone_at = ${Date.now()} where status = 'gone'`.execute(db)
  await schema
    .createIndex('runs_gone')
    .on('runs')
    .columns(['tenant', 'gone_at'])
    .where(sql<boolean>`status = 'gone'`)
    .execute()
  await schema.createIndex('async_events_run').on('async_events').columns(['tenant', 'request_id']).execute()
  await schema.createIndex('memories_age').on('memories').columns(['tenant', 'updated_at']).execute()
  await schema.createIndex('access_keys_age').on('access_keys').columns(['tenant', 'expires_at']).execute()
}
