import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** Windows of budgets, and the reservations of model calls that are not settled. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
  // All tenants pay into the windows of the service; `serviceTenant` names no tenant.
  const isOfService = String.raw`tenant = E'\x01'`
  if (db.getExecutor().adapter instanceof PostgresAdapter)
    await sql.raw(`create policy agent_core_service on budget_windows using (${isOfService}) with check (${isOfService})`).execute(db)
}

const statements = [
  `create table budget_windows (
  tenant text not null,
  budget text not null,
  subject text not null,
  window_start bigint not null,
  scope text not null,
  spent bigint not null default 0,
  reserved bigint not null default 0,
  overrun bigint not null default 0,
  estimated bigint not null default 0,
  tokens_spent bigint not null default 0,
  tokens_reserved bigint not null default 0,
  tokens_overrun bigint not null default 0,
  tokens_estimated bigint not null default 0,
  usd_limit bigint,
  tokens_limit bigint,
  usd_override bigint,
  tokens_override bigint,
  override_until bigint,
  override_by text,
  warned_at bigint,
  constraint budget_windows_pk primary key (tenant, budget, subject, window_start)
)`,
  // Windows of a run or session are found by its name when it is removed.
  'create index budget_windows_subject on budget_windows (subject)',
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
  constraint budget_reservations_pk primary key (tenant, id, budget)
)`,
  'create index budget_reservations_run on budget_reservations (tenant, request_id, owner)',
  'create index budget_reservations_holder on budget_reservations (holder)',
]
