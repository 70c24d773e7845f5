import { sql, type Kysely } from 'kysely'

/** Calls that wait for approval, and how long runs ran before they waited for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  // While a run waits for approval its clock stands.
  await schema
    .alterTable('runs')
    .addColumn('ran_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await schema
    .createTable('approvals')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('place', 'integer', (column) => column.notNull())
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('input', 'text', (column) => column.notNull())
    .addColumn('by', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('decision', 'text')
    .addColumn('new_input', 'text')
    .addColumn('reason', 'text')
    .addColumn('decided_by', 'text')
    .addColumn('decided_at', 'bigint')
    .addColumn('started_at', 'bigint')
    // The owner comes last: who may decide on others' calls looks for their ids alone.
    .addPrimaryKeyConstraint('approvals_pk', ['tenant', 'request_id', 'call_id', 'owner'])
    .execute()
  await schema
    .createIndex('approvals_open')
    .on('approvals')
    .columns(['tenant', 'requested_at', 'place'])
    .where(sql<boolean>`decision is null`)
    .execute()
}
