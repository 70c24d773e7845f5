import { sql, type Kysely, type QueryCreator } from 'kysely'
import type { Begun, NewRun } from '../../runs/run-store.ts'
import { reservationColumns, stepsOfHold, toReservationJson } from '../budgets/postgres-hold.ts'
import { listSteps } from '../budgets/settle.ts'
import { toStates, type BudgetStateRow } from '../budgets/windows.ts'
import {
  toText,
  toWindow,
  messageColumns,
  newRunColumns,
  newRunConstants,
  newRunValues,
  toMessageRow,
  toNewRunRow,
  type ColumnType,
  type MessageColumns,
  type NewRunColumns,
} from '../rows.ts'
import { statement, type Param } from '../database.ts'
import type { SessionRow, Tables } from '../tables.ts'
import { literalsOf, namesOf, recordset, type RowOf } from './chat-groups.ts'
import { claimSession, insertFrom, messageValues, type SessionClaim } from './statements.ts'

/** The begin of a simple chat on Postgres: one statement for a single chat, and one for a group. See `postgres-chat.ts`. */

/** The session of a begun run, whose message is the last. `windows` is present where the reservation of the run is held. */
export type BegunRow = Pick<SessionRow, 'key' | 'message_count' | 'window_start' | 'summary'> & { windows?: BudgetStateRow[] | null }

export function toBegun(session: BegunRow, { reservation }: Pick<NewRun, 'reservation'>): Begun {
  const { key, message_count: messageCount, windows } = session
  const turn = { session: key, messageIndex: messageCount - 1, messageCount, ...toWindow(session) }
  if (!reservation || !windows) return { kind: 'running', fence: 1, turn }
  const states = toStates(reservation.accounts, windows, reservation.createdAt)
  return { kind: 'running', fence: 1, turn: { ...turn, held: { reservation, states } } }
}

type Message = NewRun['messages'][number]
type BeginValues = SessionClaim & NewRunColumns & MessageColumns & { reservation: string | null }

export function toBeginValues(newRun: NewRun, message: Message): BeginValues {
  const { shortName, reservation } = newRun
  const held = { reservation: reservation ? toReservationJson(reservation) : null }
  return { ...newRun, ...held, shortName: toText(shortName), messages: 1, ...toNewRunRow(newRun), ...toMessageRow(message) }
}

/**
 * Begins a run with one message in a free session. Does everything, or changes nothing: then the statement returns no row, or a known request id
 * violates the primary key. With `holds`, the statement undoes itself where a window cannot pay.
 */
export function beginStatement(database: Kysely<Tables>, { holds } = { holds: false }) {
  return statement(database, (db, param: Param<BeginValues>) => {
    const fromSession = sql`from session where active_run = ${param('requestId')}`
    const [key, index] = [sql`session.key`, sql`session.message_count - 1`]
    const begun = db
      .with('session', (ctes) => claimSession(ctes, param))
      .with('run', (ctes) => {
        const row = { ...newRunValues(param), session: key, status: sql.lit('running'), message_index: index }
        const run = insertFrom(ctes, 'runs', row, fromSession)
        return holds ? run.returning('request_id as begun') : run
      })
      .with('message', (ctes) => insertFrom(ctes, 'messages', { ...messageValues(param), session: key, idx: index }, fromSession))
    const selected = (holds ? withHold(begun, param) : begun).selectFrom('session').selectAll()
    const row = selected.where('active_run', '=', param('requestId'))
    return holds ? row.select(sql<BudgetStateRow[]>`(select json_agg(paid) from paid)`.as('windows')) : row
  })
}

/** True when the rows of runs are locked. */
const areInserted = '(select count(*) from run) >= 0'

/** Holds the reservation of the run, when all other rows are locked. */
function withHold<T>(begun: QueryCreator<T>, param: Param<BeginValues>): QueryCreator<T> {
  const given = sql`json_to_record(cast(${param('reservation')} as json)) as given (${sql.raw(reservationColumns)})`
  const asked = sql<object>`(select cast(${param('tenant')} as text) as tenant, given.* from session, ${given} where active_run = ${param('requestId')})`
  const { wanted, summed, paid, kept } = stepsOfHold('', areInserted)
  const step = (text: string) => sql.raw<object>(`(${text})`)
  return begun
    .with('asked', asked)
    .with('wanted', step(wanted))
    .with('summed', step(summed))
    .with('paid', step(paid))
    .with('kept', step(kept)) as never
}

const selectWithWindows = `select *, null::json as windows from begun
union all select null, null, null, null, null, (select json_agg(paid) from paid)`

const columns = { ...newRunColumns, ...messageColumns, session_key: 'text', short_name: 'text' } as const

export function toBeginRow(newRun: NewRun, message: Message): RowOf<typeof columns> & { reservation?: string } {
  const { tenant: _, ...row } = { ...toNewRunRow(newRun), ...toMessageRow(message) }
  const { sessionKey, shortName, reservation } = newRun
  const held = reservation ? { reservation: toReservationJson(reservation) } : {}
  return { ...row, ...held, session_key: sessionKey, short_name: toText(shortName) }
}

/**
 * Begins runs with one message each in free sessions: $1 is the tenant, $2 the JSON array of rows; the result has the position `n` of each run that has begun. Leaves out a run with a known request id, and
 * one whose session is busy or locked, so that a group waits for no session. New sessions are inserted in one order: groups of two processes
 * with the same new sessions wait for each other in this order only.
 *
 * The tenant is a column of the input, and each lookup is a subquery with an offset or a lock: without statistics, Postgres would otherwise read
 * all sessions and runs of the tenant. The owner is compared in a form that leaves the primary key as the only index for the id of a session.
 */
export const beginGroup = beginGroupOf(columns)

/** Also holds the reservations of the runs that begin. The row without a position has the windows. */
export const beginGroupWithHolds = beginGroupOf(
  { ...columns, reservation: 'text' },
  listSteps(
    stepsOfHold(
      `select input.tenant, given.* from begun join unknown as input using (n)
        cross join lateral json_to_record(cast(input.reservation as json)) as given (${reservationColumns})`,
      areInserted,
    ),
  ),
)

function beginGroupOf(of: Readonly<Record<string, ColumnType>>, steps = ''): string {
  return `
with input as materialized (
  select cast($1 as text) as tenant, chat.* from ${recordset(of)}
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
  select tenant, key, 'running', message_count - 1, ${namesOf(newRunColumns)}, ${literalsOf(newRunConstants)} from begun join unknown as input using (n)${steps && ' returning request_id'}
), message as (
  insert into messages (tenant, session, idx, role, content, created_at, data)
  select tenant, key, message_count - 1, role, content, message_at, data from begun join unknown as input using (n)
)${steps && `, ${steps}`}
${steps ? selectWithWindows : 'select * from begun'}`
}
