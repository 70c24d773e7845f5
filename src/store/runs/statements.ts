import { sql, type InsertObject, type Kysely, type OnConflictBuilder, type QueryCreator, type RawBuilder } from 'kysely'
import type { RunKey } from '../../runs/run.ts'
import { mapColumns, paramsOf, statement, type Param } from '../database.ts'
import type { MessageRow, RunRow, Tables } from '../tables.ts'
import {
  endedRunValues,
  metricsSums,
  metricsValues,
  newRunValues,
  type EndedTool,
  type MessageColumns,
  type NewMetrics,
  type NewRunRow,
  type RunEnd,
} from '../rows.ts'

/** A started run waits long for an unreachable database: no other process could resume the run either. */
export const runRetry = { retryForMs: 60_000 }

/** The primary key of a run, as parameters. */
export function whereRun(param: Param<RunKey>) {
  return { tenant: param('tenant'), owner: param('owner'), request_id: param('requestId') }
}

/**
 * The tenant of a session, written so that no index is used: the session is found by its key. Without statistics Postgres assumes one or two
 * sessions per tenant, and would read all sessions of the tenant instead.
 */
export const unindexedTenant = sql<string>`sessions.tenant || ''`

/** Finds a session by its unique key. */
export function whereSession(param: Param<{ tenant: string; session: string }>) {
  return sql<boolean>`sessions.key = ${param('session')} and ${unindexedTenant} = ${param('tenant')}`
}

export interface SessionClaim extends RunKey {
  sessionId: string
  sessionKey: string
  shortName: string
  /** Messages to store in an empty session; a session with messages gets only the last. 0: none, because the run does not start yet. */
  messages: number
  now: number
}

export interface EndedSession {
  tenant: string
  session: string
  requestId: string
  /** Messages of the end: 0 or 1. */
  newMessages: number
  checkpointId: string
  now: number
}

/** The end of a turn with an answer, where the session has as many messages as the process knows of. */
export interface AnsweredSession extends Omit<EndedSession, 'newMessages'> {
  /** Messages of the session with the answer. */
  messageCount: number
}

/** The messages of a session from an index on. */
export interface HistoryPart {
  tenant: string
  session: string
  from: number
}

/** A message at its position in a session. */
export type PlacedMessage = MessageColumns & Pick<MessageRow, 'tenant' | 'session' | 'idx'>

/** The statements of a chat, compiled once because chats are the hot path. */
export function runStatements(database: Kysely<Tables>, isShared: boolean) {
  return {
    ...sessionStatements(database),
    ...rowStatements(database),
    ...messageStatements(database),
    ...stepStatements(database, isShared),
  }
}

/** The turn of a run in its session. */
function sessionStatements(database: Kysely<Tables>) {
  return {
    /** Creates the session, or claims a session without an active run; returns the active run. */
    claimSession: statement(database, (db, param: Param<SessionClaim>) => claimSession(db, param)),

    /**
     * Updates and locks the session, which freezes the session queue until the commit. No row: the session was deleted. The row counts the
     * messages: a process does not know of those whose commit had no answer.
     */
    endSessionTurn: statement(database, (db, param: Param<EndedSession>) =>
      db
        .updateTable('sessions')
        .set({
          message_count: sql`message_count + ${param('newMessages')}`,
          checkpoint_id: param('checkpointId'),
          updated_at: param('now'),
        })
        .where(whereSession(param))
        .where('active_run', '=', param('requestId'))
        .returning(['owner', 'session_id', 'message_count']),
    ),

    /**
     * Hands a locked session to the first run in its queue, if any. A separate statement from the lock: on Postgres a statement that waited
     * for the lock would still see the queue from before.
     */
    handOver: statement(database, (db, param: Param<{ tenant: string; session: string; requestId: string }>) =>
      db
        .updateTable('sessions')
        .set({ active_run: firstInQueue(param('tenant'), param('session')) })
        .where(whereSession(param))
        .where('active_run', '=', param('requestId'))
        .returning('active_run'),
    ),
  }
}

/** The row of a run, and the rows of its end. */
function rowStatements(database: Kysely<Tables>) {
  return {
    insertRun: statement(database, (db, param: Param<NewRunRow>) => insertNewRun(db, newRun(param))),

    /** Inserts a run that has arrived at the process `acceptedBy`. */
    insertArrived: statement(database, (db, param: Param<NewRunRow & { acceptedBy: string }>) =>
      insertNewRun(db, { ...newRun(param), place: placeOf(param) }),
    ),

    /** The row under a request id: the run of a chat, a direct tool execution, or a tombstone. */
    findRow: statement(database, (db, param: Param<RunKey>) =>
      db
        .selectFrom('runs')
        .selectAll()
        .where((is) => is.and(whereRun(param))),
    ),

    statusOf: statement(database, (db, param: Param<RunKey>) =>
      db
        .selectFrom('runs')
        .select('status')
        .where((is) => is.and(whereRun(param))),
    ),

    /** Ends a running run. No row: another process has taken the run over. */
    endRun: statement(database, (db, param: Param<RunEnd & Pick<RunRow, 'error'>>) =>
      db
        .updateTable('runs')
        .set({ ...endedRunValues(param), error: param('error') })
        .where((is) => is.and(whereRun(param)))
        .where('fence', '=', param('fence'))
        .where(whereChat)
        .where('status', '=', 'running')
        .returning(['has_notifications', 'open_messages']),
    ),

    /** Stores the calls of a tool in an ended run. A resumed run may have the tool already, of another version. */
    insertTool: statement(database, insertTool),

    addMetrics: statement(database, addMetrics),
  }
}

function messageStatements(database: Kysely<Tables>) {
  return {
    hasMessages: statement(database, (db, param: Param<{ tenant: string; session: string }>) =>
      db.selectFrom('messages').select('idx').where('tenant', '=', param('tenant')).where('session', '=', param('session')).limit(1),
    ),

    insertMessage: statement(database, insertMessage),

    history: statement(database, history),

    /** A statement of its own: SQLite compiles a statement with a limit as a parameter at each execution. */
    historyPart: statement(database, (db, param: Param<HistoryPart & { limit: number }>) => history(db, param).limit(param('limit'))),
  }
}

/** The steps of a run that is held by a process. */
function stepStatements(database: Kysely<Tables>, isShared: boolean) {
  return {
    /** Stores a step of a running run. No row: another process has taken the run over, or the run has ended. */
    keepStep: statement(database, (db, param: Param<HeldStep>) => insertHeldStep(db, param, isShared).returning('n')),

    insertStep: statement(database, (db, param: Param<RunKey & { n: number; data: string }>) =>
      db.insertInto('run_steps').values({ ...whereRun(param), ...paramsOf(param, ['n', 'data']) }),
    ),

    stepsOf: statement(database, (db, param: Param<RunKey>) =>
      db
        .selectFrom('run_steps')
        .select('data')
        .where((is) => is.and(whereRun(param)))
        .orderBy('n'),
    ),

    deleteSteps: statement(database, deleteSteps),

    /** Locks a running run. No row: another process has taken the run over, or the run has ended. */
    holdRun: statement(database, (db, param: Param<RunKey & { fence: number }>) =>
      db
        .updateTable('runs')
        .set({ fence: param('fence') })
        .where((is) => is.and(whereRun(param)))
        .where('fence', '=', param('fence'))
        .where(whereChat)
        .where('status', '=', 'running')
        .returning('fence'),
    ),
  }
}

function history(db: QueryCreator<Tables>, param: Param<HistoryPart>) {
  return db
    .selectFrom('messages')
    .select((row) => [
      'idx',
      'role',
      'content',
      'data',
      row.selectFrom('sessions').select('checkpoint_id').where(whereSession(param)).as('checkpoint_id'),
    ])
    .where('tenant', '=', param('tenant'))
    .where('session', '=', param('session'))
    .where('idx', '>=', param('from'))
    .orderBy('idx')
}

/** A message, without its position in the session. */
export function messageValues(param: Param<MessageColumns & { tenant: string }>) {
  return { tenant: param('tenant'), role: param('role'), content: param('content'), created_at: param('message_at'), data: param('data') }
}

export function insertMessage(db: QueryCreator<Tables>, param: Param<PlacedMessage>) {
  return db.insertInto('messages').values({ ...messageValues(param), session: param('session'), idx: param('idx') })
}

/** Inserts the values of `row` once for each row of `source`. */
export function insertFrom<T extends 'runs' | 'messages' | 'metrics' | 'run_tools'>(
  ctes: QueryCreator<Tables>,
  table: T,
  row: Record<string, unknown>,
  source: RawBuilder<unknown>,
) {
  return ctes
    .insertInto(table)
    .columns(Object.keys(row) as never)
    .expression(sql`select ${sql.join(Object.values(row))} ${source}` as never)
}

/** A step of a running run, under the fence of its process. */
interface HeldStep extends RunKey {
  fence: number
  n: number
  data: string
}

/** Inserts nothing where another process has taken the run over, or the run has ended. */
export function insertHeldStep(db: QueryCreator<Tables>, param: Param<HeldStep>, isShared = false) {
  return db
    .insertInto('run_steps')
    .columns(['tenant', 'owner', 'request_id', 'n', 'data'])
    .expression((builder) => {
      const heldRun = builder
        .selectFrom('runs')
        .select(({ val }) => ['tenant', 'owner', 'request_id', val(param('n')).as('n'), val(param('data')).as('data')])
        .where((is) => is.and(whereRun(param)))
        .where('fence', '=', param('fence'))
        .where(whereChat)
        .where(sql<boolean>`status = 'running'`)
      return isShared ? heldRun.forUpdate() : heldRun
    })
}

export function deleteSteps(db: QueryCreator<Tables>, param: Param<RunKey>) {
  return db.deleteFrom('run_steps').where((is) => is.and(whereRun(param)))
}

/** Adds an ended run to the sums of its hour. */
export function addMetrics(db: QueryCreator<Tables>, param: Param<NewMetrics>) {
  return db
    .insertInto('metrics')
    .values(metricsValues(param))
    .onConflict((conflict) => conflict.columns(['tenant', 'hour']).doUpdateSet(addedMetrics))
}

/** See `runStatements`. */
export function insertTool(db: QueryCreator<Tables>, param: Param<RunKey & EndedTool>) {
  return db
    .insertInto('run_tools')
    .columns(['tenant', 'owner', 'request_id', 'tool', 'sub', 'config_version', 'created_at', 'ended_at', 'calls', 'errors', 'durations'])
    .expression((builder) =>
      builder
        .selectFrom('runs')
        .select(({ val }) => [
          'tenant',
          'owner',
          'request_id',
          val(param('tool')).as('tool'),
          'sub',
          'config_version',
          'created_at',
          'ended_at',
          val(param('calls')).as('calls'),
          val(param('errors')).as('errors'),
          val(param('durations')).as('durations'),
        ])
        .where((is) => is.and(whereRun(param))),
    )
    .onConflict(renewTool)
}

/** A tool that the run has stored at an earlier end; its calls include those before the resume. */
export function renewTool(conflict: OnConflictBuilder<Tables, 'run_tools'>) {
  return conflict.columns(['tenant', 'owner', 'request_id', 'tool']).doUpdateSet(({ ref }) => ({
    config_version: ref('excluded.config_version'),
    ended_at: ref('excluded.ended_at'),
    calls: ref('excluded.calls'),
    errors: ref('excluded.errors'),
    durations: ref('excluded.durations'),
  }))
}

/** The sums of an hour that already has a row. */
export const addedMetrics = mapColumns(metricsSums, (_, sum) => sql.raw<number>(sum))

export type RunStatements = ReturnType<typeof runStatements>

/** See `runStatements`. */
export function claimSession(db: QueryCreator<Tables>, param: Param<SessionClaim>) {
  return db
    .insertInto('sessions')
    .values(newSession(param))
    .onConflict((conflict) =>
      conflict.columns(['tenant', 'owner', 'session_id']).doUpdateSet({
        active_run: sql`coalesce(sessions.active_run, excluded.active_run)`,
        message_count: sql`case when sessions.active_run is not null or excluded.message_count = 0 then sessions.message_count
          when sessions.message_count = 0 then excluded.message_count else sessions.message_count + 1 end`,
        short_name: sql`case when sessions.active_run is null and sessions.message_count = 0 then excluded.short_name
          else sessions.short_name end`,
        updated_at: sql`case when sessions.active_run is null then excluded.updated_at else sessions.updated_at end`,
        // A later chat keeps the session.
        unstored: sql`null`,
      }),
    )
    .returning(['key', 'active_run', 'message_count', 'window_start', 'summary'])
}

/** The columns of a new session. */
export function newSession(param: Param<SessionClaim>) {
  return {
    tenant: param('tenant'),
    owner: param('owner'),
    session_id: param('sessionId'),
    key: param('sessionKey'),
    short_name: param('shortName'),
    checkpoint_id: param('sessionKey'),
    active_run: param('requestId'),
    message_count: param('messages'),
    window_start: 0,
    created_at: param('now'),
    updated_at: param('now'),
  }
}

/** The values of a new run. */
export function newRun(param: Param<NewRunRow>) {
  return { ...newRunValues(param), session: param('session'), status: param('status'), message_index: param('message_index') }
}

/** The first waiting run of a session. The status is literal, because the partial index is not used with a parameter. */
function firstInQueue(tenant: string, session: string) {
  return sql<string | null>`(select request_id from runs where tenant = ${tenant} and session = ${session}
    and status = 'pending' order by place limit 1)`
}

function insertNewRun(db: QueryCreator<Tables>, row: InsertObject<Tables, 'runs'>) {
  return db
    .insertInto('runs')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant', 'owner', 'request_id']).doNothing())
    .returning('request_id')
}

/**
 * The place of a run in the queue of its session: the arrival by the clock of the process, but behind all waiting runs where another process, whose
 * clock is ahead, has accepted one of them before.
 */
export function placeOf(param: Param<Pick<NewRunRow, 'tenant' | 'session' | 'place'> & { acceptedBy: string }>) {
  const place = sql<number>`cast(${param('place')} as bigint)`
  const waiting = sql`from runs where tenant = ${param('tenant')} and session = ${param('session')} and status = 'pending'`
  return sql<number>`case when exists (select 1 ${waiting} and place >= ${place} and holder <> ${param('acceptedBy')})
    then (select max(place) + 1 ${waiting}) else ${place} end`
}

/**
 * Leaves out direct tool executions, which are rows of `runs` because they share the caller's request ids with chats. Every query for the
 * runs of chats has this clause. The value is in the SQL text: only then is a partial index used.
 */
export const whereChat = sql<boolean>`runs.operation <> 'tool_execute'`

export const whereToolExecution = sql<boolean>`runs.operation = 'tool_execute'`
