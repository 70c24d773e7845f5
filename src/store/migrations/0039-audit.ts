import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** The ledger of acts: events that nobody changes or removes, and the signed heads of their chains. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const statement of [...tables, ...(isPostgres ? postgresParts : sqliteParts)]) await sql.raw(statement).execute(db)
}

const tables = [
  `create table audit_events (
  tenant text not null,
  id text not null,
  at bigint not null,
  issuer text not null,
  sub text not null,
  jti text,
  via text not null,
  action text not null,
  target text not null,
  outcome text not null,
  owner text,
  request_id text,
  config_version text,
  data text,
  salt text,
  seq bigint,
  prev_hash text,
  hash text,
  constraint audit_events_pk primary key (tenant, id)
)`,
  'create unique index audit_events_seq on audit_events (tenant, seq) where seq is not null',
  'create index audit_events_run on audit_events (tenant, request_id) where request_id is not null',
  // Rare acts are found behind millions of calls; the calls themselves have no entry.
  `create index audit_events_act on audit_events (tenant, action, id) where action not in ('tool.started', 'tool.ended')`,
  // `kind`: `head`, or `cut` for the last event that retention has removed.
  `create table audit_heads (
  tenant text not null,
  seq bigint not null,
  kind text not null,
  hash text not null,
  at bigint not null,
  kid text not null,
  jws text not null,
  constraint audit_heads_pk primary key (tenant, seq, kind)
)`,
  // The end of each chain, with a code of the service that the database cannot make. `sign_at`: when the end is signed.
  `create table audit_chains (
  tenant text not null primary key,
  seq bigint not null,
  hash text not null,
  kid text not null,
  mac text not null,
  signed_seq bigint not null,
  sign_at bigint
)`,
  'create index audit_chains_due on audit_chains (sign_at) where sign_at is not null',
  'alter table approvals add column salt text',
]

/** True for an event that retention may remove: a signed cut lies at the event, or behind. */
const isCut = `exists (select 1 from audit_heads where tenant = old.tenant and kind = 'cut' and seq >= old.seq)`

const fixed = 'tenant, id, at, issuer, sub, jti, via, action, target, outcome, owner, request_id, config_version, data'.split(', ')
const sealed = ['seq', 'prev_hash', 'hash']

const sqliteParts = [
  // The index ends with the rowid: the order of the inserts.
  'create index audit_events_unsealed on audit_events (tenant) where seq is null',
  `create trigger audit_events_kept before delete on audit_events when not ${isCut}
begin select raise(abort, 'audit events are not removed'); end`,
  `create trigger audit_events_unchanged before update on audit_events
when ${fixed.map((name) => `old.${name} is not new.${name}`).join(' or ')}
  or (old.seq is not null and (${sealed.map((name) => `old.${name} is not new.${name}`).join(' or ')}))
  or (new.salt is not null and old.salt is not new.salt)
begin select raise(abort, 'audit events are not changed'); end`,
]

const postgresParts = [
  // The order of the inserts: an act that follows from another has the higher number, whichever clocks the processes have.
  'alter table audit_events add column ord bigint generated always as identity',
  'create index audit_events_unsealed on audit_events (tenant, ord) where seq is null',
  `create or replace function audit_events_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then raise exception 'audit events are not removed'; end if;
  if tg_op = 'DELETE' then
    if not ${isCut} then raise exception 'audit events are not removed'; end if;
    return old;
  end if;
  if ${fixed.map((name) => `old.${name} is distinct from new.${name}`).join(' or ')}
    or (old.seq is not null and (${sealed.map((name) => `old.${name} is distinct from new.${name}`).join(' or ')}))
    or (new.salt is not null and old.salt is distinct from new.salt)
  then raise exception 'audit events are not changed'; end if;
  return new;
end $$`,
  'create trigger audit_events_guard before update or delete on audit_events for each row execute function audit_events_guard()',
  'create trigger audit_events_whole before truncate on audit_events for each statement execute function audit_events_guard()',
]
