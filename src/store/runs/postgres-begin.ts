import { sql, type Kysely } from 'kysely'
import type { Begun, NewRun } from '../../runs/run-store.ts'
import {
  toText,
  toWindow,
  messageColumns,
  newRunColumns,
  newRunConstants,
  newRunValues,
  toMessageRow,
  toNewRunRow,
  type MessageColumns,
  type NewRunColumns,
} from '../rows.ts'
import { statement, type Param } from '../database.ts'
import type { SessionRow, Tables } from '../tables.ts'
import { literalsOf, namesOf, recordset, type RowOf } from './chat-groups.ts'
import { claimSession, insertFrom, messageValues, type SessionClaim } from './statements.ts'

/** The begin of a simple chat on Postgres: one statement for a single chat, and one for a group. See `postgres-chat.ts`. */

/** The session of a begun run, whose message is the last. */
export type BegunRow = Pick<SessionRow, 'key' | 'message_count' | 'window_start' | 'summary'>

export function toBegun(session: BegunRow): Begun {
  const { key, message_count: messageCount } = session
  return { kind: 'running', fence: 1, turn: { session: key, messageIndex: messageCount - 1, messageCount, ...toWindow(session) } }
}

type Message = NewRun['messages'][number]
type BeginValues = SessionClaim & NewRunColumns & MessageColumns

export function toBeginValues(newRun: NewRun, message: Message): BeginValues {
  return { ...newRun, shortName: toText(newRun.shortName), messages: 1, ...toNewRunRow(newRun), ...toMessageRow(message) }
}

/**
 * Begins a run with one message in a free session. Does everything, or changes nothing: then the statement returns no row, or a known request id
 * violates the primary key.
 */
export function beginStatement(database: Kysely<Tables>) {
  return statement(database, (db, param: Param<BeginValues>) => {
    const fromSession = sql`from session where active_run = ${param('requestId')}`
    const [key, index] = [sql`session.key`, sql`session.message_count - 1`]
    return db
      .with('session', (ctes) => claimSession(ctes, param))
      .with('run', (ctes) =>
        insertFrom(ctes, 'runs', { ...newRunValues(param), session: key, status: sql.lit('running'), message_index: index }, fromSession),
      )
      .with('message', (ctes) => insertFrom(ctes, 'messages', { ...messageValues(param), session: key, idx: index }, fromSession))
      .selectFrom('session')
      .selectAll()
      .where('active_run', '=', param('requestId'))
  })
}

const columns = { ...newRunColumns, ...messageColumns, session_key: 'text', short_name: 'text' } as const

export function toBeginRow(newRun: NewRun, message: Message): RowOf<typeof columns> {
  const { tenant: _, ...row } = { ...toNewRunRow(newRun), ...toMessageRow(message) }
  return { ...row, session_key: newRun.sessionKey, short_name: toText(newRun.shortName) }
}

/**
 * Begins runs with one message each in free sessions: $1 is the tenant, $2 the JSON array of rows; the result has the position `n` of each run that has begun. Leaves out a run with a known request id, and
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
