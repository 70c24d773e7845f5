import { sql, type Kysely } from 'kysely'

/** Schedules, fires, and the copied bytes of images and files. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table schedules (
  tenant text not null,
  owner text not null,
  id text not null,
  settings text not null,
  request text not null,
  identity text not null,
  issuer text not null,
  seen_at bigint not null,
  created_by_request text not null,
  body_hash text not null,
  status text not null,
  pause_reason text,
  next_at bigint,
  due_at bigint,
  watermark bigint not null,
  queued_for bigint,
  fires integer not null default 0,
  last_for bigint,
  last_request_id text,
  counts_from bigint not null,
  version text not null,
  revision integer not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  constraint schedules_pk primary key (tenant, owner, id)
)`,
  'create unique index schedules_request on schedules (tenant, owner, created_by_request)',
  'create index schedules_id on schedules (tenant, id)',
  // The engine reads the next due schedules of all tenants.
  `create index schedules_due on schedules (due_at) where status = 'active'`,
  `create index schedules_ended on schedules (updated_at) where status = 'ended'`,
  `create table schedule_fires (
  tenant text not null,
  schedule_id text not null,
  scheduled_for bigint not null,
  fired_at bigint not null,
  outcome text not null,
  reason text,
  count integer not null,
  owner text not null,
  run_id text,
  constraint schedule_fires_pk primary key (tenant, schedule_id, scheduled_for)
)`,
  'create index schedule_fires_age on schedule_fires (fired_at)',
  `create index schedule_fires_started on schedule_fires (tenant, schedule_id, fired_at) where outcome = 'started'`,
  `create table schedule_media (
  tenant text not null,
  schedule_id text not null,
  part text not null,
  n integer not null,
  owner text not null,
  media_type text not null,
  data text not null,
  constraint schedule_media_pk primary key (tenant, schedule_id, part, n)
)`,
]
