import type { NewRun } from '../../runs/run-store.ts'
import { toText } from '../rows.ts'
import type { SessionRow } from '../tables.ts'
import { messageColumns, newRunColumns, newRunConstants, toMessageRow, toNewRunRow } from './columns.ts'
import { literalsOf, namesOf, recordset, type RowOf } from './group-rows.ts'

const columns = { ...newRunColumns, ...messageColumns, session_key: 'text', short_name: 'text' } as const

export function toBeginRow(newRun: NewRun, message: NewRun['messages'][number]): RowOf<typeof columns> {
  const { tenant: _, ...row } = { ...toNewRunRow(newRun), ...toMessageRow(message) }
  return { ...row, session_key: newRun.sessionKey, short_name: toText(newRun.shortName) }
}

/** The session of a begun run; `n` is the position of the run in its group. */
export type BegunRow = Pick<SessionRow, 'key' | 'message_count' | 'window_start' | 'summary'> & { n: number }

/**
 * Begins runs with one message each in free sessions: $1 is the tenant, $2 the JSON array of rows. Leaves out a run with a known request id, and
 * one whose session is busy or locked, so that a group waits for no session. New sessions are inserted in one order: groups of two processes
 * with the same new sessions wait for each other in this order only.
 *
 * The tenant is a column of the input, and each lookup is a subquery with an offset or a lock: without statistics, Postgres would otherwise read
 * all sessions and runs of the tenant. The owner is compared in a form that leaves the primary key as the only index for the id of a session.
 */
export const beginGroup = `
with input as materialized (
  select cast($1 as text) as tenant, chat.* from ${recordset(columns)}
), unknown as materialized (
  select input.* from input where not exists (
    select from runs where runs.tenant = input.tenant and runs.request_id = input.request_id and runs.owner = input.owner offset 0)
), free as materialized (
  select input.n, found.key from unknown as input cross join lateral (
    select key from sessions
    where sessions.tenant = input.tenant and sessions.session_id = input.session_id and sessions.owner || '' = input.owner and active_run is null
    for update skip locked) as found
), entered as (
  update sessions set
    active_run = input.request_id,
    message_count = sessions.message_count + 1,
    short_name = case when sessions.message_count = 0 then input.short_name else sessions.short_name end,
    updated_at = input.created_at,
    unstored = null
  from free join unknown as input using (n)
  where sessions.key = free.key and sessions.tenant = input.tenant
  returning input.n, sessions.key, sessions.message_count, sessions.window_start, sessions.summary
), created as (
  insert into sessions (tenant, owner, session_id, key, short_name, checkpoint_id, active_run, message_count, window_start, created_at, updated_at)
  select tenant, owner, session_id, session_key, short_name, session_key, request_id, 1, 0, created_at, created_at from unknown as input
  where not exists (
    select from sessions where sessions.tenant = input.tenant and sessions.session_id = input.session_id and sessions.owner || '' = input.owner offset 0)
  order by session_id, owner
  on conflict do nothing
  returning key
), begun as (
  select * from entered
  union all
  select input.n, key, 1, 0, null from created join unknown as input on session_key = key
), run as (
  insert into runs (tenant, session, status, message_index, ${namesOf(newRunColumns)}, ${namesOf(newRunConstants)})
  select tenant, key, 'running', message_count - 1, ${namesOf(newRunColumns)}, ${literalsOf(newRunConstants)} from begun join unknown as input using (n)
), message as (
  insert into messages (tenant, session, idx, role, content, created_at, data)
  select tenant, key, message_count - 1, role, content, message_at, data from begun join unknown as input using (n)
)
select * from begun`
