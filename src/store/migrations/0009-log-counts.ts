import { sql, type Kysely } from 'kysely'

/** Number of an hour's ended runs that are no longer in the logs, so that log entries are counted without reading each. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('metrics')
    .addColumn('removed', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`update metrics set removed = success + error + cancelled + timeout - (select count(*) from runs where runs.tenant = metrics.tenant
    and runs.ended_at is not null and runs.ended_at >= metrics.hour and runs.ended_at < metrics.hour + 3600000
    and runs.operation <> 'tool_execute')`.execute(db)
}
