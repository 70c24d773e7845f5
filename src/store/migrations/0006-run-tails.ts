import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** Events of running runs for readers on other replicas, stored while such readers exist. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const table = db.schema
    .createTable('run_tails')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('fence', 'integer', (column) => column.notNull())
    .addColumn('first', 'integer', (column) => column.notNull())
    .addColumn('last', 'integer', (column) => column.notNull())
    .addColumn('restored', 'integer', (column) => column.notNull())
    .addColumn('restored_at', 'integer')
    .addColumn('events', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_tails_pk', ['tenant', 'owner', 'request_id', 'fence', 'first'])
  // Unlogged: after a crash has emptied the table, the holder of a run writes its tail again.
  await (db.getExecutor().adapter instanceof PostgresAdapter ? table.modifyFront(sql`unlogged`) : table).execute()
}
