import { sql, type Kysely } from 'kysely'

/** Messages that are sent to a run while the run goes on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table run_messages (
  tenant text not null,
  owner text not null,
  request_id text not null,
  position integer not null,
  message_id text not null,
  target_id text not null,
  rank integer not null,
  mode text not null,
  content text not null,
  created_at bigint not null,
  delivered_at bigint,
  constraint run_messages_pk primary key (tenant, owner, request_id, position)
)`,
  'create unique index run_messages_id on run_messages (tenant, message_id, owner)',
  'create index run_messages_open on run_messages (tenant, target_id, owner, rank) where delivered_at is null',
  'alter table runs add column message_ranks integer',
  'alter table runs add column open_messages integer',
  'alter table runs add column continues text',
]
