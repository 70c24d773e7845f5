import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** What runs have told so far, for readers on other replicas; as long as there are some. */
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
  // Whoever has the run writes it again where a crash of the database has emptied it.
  await (db.getExecutor().adapter instanceof PostgresAdapter ? table.modifyFront(sql`unlogged`) : table).execute()
}
