import { PostgresAdapter, sql, type Kysely } from 'kysely'

/**
 * Few reservations exist at a time, and each lives as long as a model call: the indexes cost more than scans of the table. On SQLite a reservation
 * changes a single page.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = db.getExecutor().adapter instanceof PostgresAdapter ? onServer : embedded
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const dropped = ['drop index budget_reservations_run', 'drop index budget_reservations_holder']
const onServer = dropped
const embedded = [
  ...dropped,
  'alter table budget_reservations rename to budget_reservations_before',
  `create table budget_reservations (
  tenant text not null,
  id text not null,
  window_tenant text not null,
  budget text not null,
  subject text not null,
  window_start bigint not null,
  owner text not null,
  request_id text not null,
  fence integer not null,
  holder text not null,
  amount bigint not null,
  tokens bigint not null,
  created_at bigint not null,
  primary key (tenant, id, budget)
) without rowid`,
  `insert into budget_reservations select tenant, id, window_tenant, budget, subject, window_start, owner, request_id, fence, holder, amount, tokens,
  created_at from budget_reservations_before`,
  'drop table budget_reservations_before',
]
