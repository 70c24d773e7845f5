import { sql, type Kysely } from 'kysely'

/** Calls that wait for approval, and the execution time of runs before the wait. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  // The time spent waiting for approval does not count towards the timeout of a run.
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
    // The owner comes last, because approvers of other callers' calls search by id only.
    .addPrimaryKeyConstraint('approvals_pk', ['tenant', 'request_id', 'call_id', 'owner'])
    .execute()
  await schema
    .createIndex('approvals_open')
    .on('approvals')
    .columns(['tenant', 'requested_at', 'place'])
    .where(sql<boolean>`decision is null`)
    .execute()
}
