import { sql, type Kysely } from 'kysely'
import type { RunKey } from '../../runs/run.ts'
import type { EndedRun, NewMessage, NewRun } from '../../runs/run-store.ts'
import { syncChange, syncRows, type JournalEntry, type Param, type SyncConnection } from '../database.ts'
import {
  endedRunValues,
  metricsOf,
  toEndedRow,
  toMessageRow,
  toNewRunRow,
  toText,
  type MessageColumns,
  type NewRunRow,
  type RunEnd,
} from '../rows.ts'
import type { Tables } from '../tables.ts'
import {
  addMetrics,
  deleteSteps,
  insertMessage,
  insertTool,
  newRun as newRunValues,
  newSession,
  whereChat,
  whereRun,
  whereSession,
  type EndedSession,
  type SessionClaim,
} from './statements.ts'

/** The changes of a simple chat on SQLite: as entries of the journal, and as statements for the tables. */

/** Thrown inside of a unit to undo its changes: the chat is stored step by step. */
export class NotSimple extends Error {}

/** What the begin of a chat in a new session stores. The rest of the rows follows from these values. */
export interface ChatBegin {
  shortName: string
  run: NewRunRow & { session: string }
  message: MessageColumns
}

export function toBegin(newRun: NewRun): ChatBegin {
  return {
    shortName: toText(newRun.shortName),
    run: { ...toNewRunRow(newRun), session: newRun.sessionKey, status: 'running', message_index: 0 },
    message: toMessageRow(newRun.messages[0]!),
  }
}

export function toClaim({ shortName, run }: ChatBegin): SessionClaim {
  const { tenant, owner, request_id: requestId, session_id: sessionId, session: sessionKey, created_at: now } = run
  return { tenant, owner, requestId, sessionId, sessionKey, shortName, messages: 1, now }
}

/** What the end of a chat stores, beside its tools, steps and budgets. */
export interface ChatEnd {
  run: RunEnd
  session: string
  messageCount: number
  checkpointId: string
  message: MessageColumns
}

export function toEnd({ tenant, owner, requestId }: RunKey, fence: number, ended: EndedRun, message: NewMessage): ChatEnd {
  const { session, messageCount, checkpointId } = ended
  const run = { tenant, owner, requestId, fence, ...toEndedRow(ended) }
  return { run, session, messageCount, checkpointId, message: toMessageRow(message) }
}

export function chatStatements(db: Kysely<Tables>) {
  const statements = { ...beginStatements(db), ...endStatements(db) }
  return {
    ...statements,
    /** False for a run that is not simple, where nothing is changed. */
    storeEnd(connection: SyncConnection, { run, session, messageCount, checkpointId, message }: ChatEnd): boolean {
      const { tenant, requestId, ended_at: endedAt } = run
      if (statements.findWaiting(connection, { tenant, session }).length > 0) return false
      // A run with notifications or messages, taken over by another process, or ended with another version of the configuration than it began with.
      if (statements.endRun(connection, run) === 0) return false
      // The session was deleted meanwhile.
      const left = { tenant, session, requestId, messageCount, checkpointId, now: endedAt ?? 0 }
      if (statements.leaveSession(connection, left) === 0) throw new NotSimple()
      statements.insertMessage(connection, { tenant, session, idx: messageCount - 1, ...message })
      statements.addMetrics(connection, metricsOf(run))
      return true
    },
  }
}

export const endPrefix = 'end '

/** The names of an entry: of a begin the session, the request id and the run, of an end the run. */
export function namesOf({ kind, values }: JournalEntry): string[] {
  if (kind === 'end') {
    const { run, session } = values as ChatEnd
    return [endPrefix + JSON.stringify([run.tenant, run.owner, run.requestId, session, run.config_version])]
  }
  const { tenant, owner, request_id, session_id, session, config_version } = (values as ChatBegin).run
  return [
    JSON.stringify(['session', tenant, owner, session_id]),
    JSON.stringify(['request', tenant, owner, request_id]),
    JSON.stringify([tenant, owner, request_id, session, config_version]),
  ]
}

/** Returns the function that writes an entry of the journal to the tables. */
export function applyEntry(db: Kysely<Tables>, connection: SyncConnection): (entry: JournalEntry) => void {
  const statements = chatStatements(db)
  return ({ kind, values }) => {
    if (kind === 'end') return endIfKept(values as ChatEnd)
    const { run, message } = values as ChatBegin
    statements.insertSession(connection, toClaim(values as ChatBegin))
    statements.insertRun(connection, run)
    statements.insertMessage(connection, { tenant: run.tenant, session: run.session, idx: 0, ...message })
  }

  /** Another process may have written the begin to the tables, and deleted the session. */
  function endIfKept(end: ChatEnd): void {
    const [session] = connection.rows('select key from sessions where key = ? and tenant = ?', [end.session, end.run.tenant])
    if (session) statements.storeEnd(connection, end)
  }
}

/**
 * The statements of a begin. A status and a limit are literals: SQLite looks at their value when it compiles a statement, and would compile a
 * statement with a parameter again at each execution.
 */
export function beginStatements(database: Kysely<Tables>) {
  return {
    /** Changes nothing when the session exists. */
    insertSession: syncChange(database, (db, param: Param<SessionClaim>) =>
      db
        .insertInto('sessions')
        .values(newSession(param))
        .onConflict((conflict) => conflict.doNothing()),
    ),

    findSession: syncRows(database, (db, param: Param<Pick<SessionClaim, 'tenant' | 'owner' | 'sessionId'>>) =>
      db
        .selectFrom('sessions')
        .select(['key', 'active_run', 'message_count', 'window_start', 'summary'])
        .where((is) => is.and({ tenant: param('tenant'), owner: param('owner'), session_id: param('sessionId') })),
    ),

    /** Gives a free session to a run, and counts its message. A later chat keeps the session of an unstored run. */
    enterSession: syncChange(
      database,
      (db, param: Param<Pick<SessionClaim, 'tenant' | 'requestId' | 'messages' | 'now'> & { key: string }>) =>
        db
          .updateTable('sessions')
          .set({ active_run: param('requestId'), message_count: param('messages'), updated_at: param('now'), unstored: null })
          .where('key', '=', param('key'))
          .where('tenant', '=', param('tenant')),
    ),

    insertRun: syncChange(database, (db, param: Param<NewRunRow>) =>
      db
        .insertInto('runs')
        .values(newRunValues(param))
        .onConflict((conflict) => conflict.doNothing()),
    ),

    insertMessage: syncChange(database, insertMessage),
  }
}

function endStatements(database: Kysely<Tables>) {
  return {
    /** A run in the queue of a session. */
    findWaiting: syncRows(database, (db, param: Param<{ tenant: string; session: string }>) =>
      db
        .selectFrom('runs')
        .select('request_id')
        .where('session', '=', param('session'))
        .where(sql<boolean>`status = 'pending'`)
        .where('tenant', '=', param('tenant'))
        .limit(sql.lit(1)),
    ),

    /** Compares the version of the configuration instead of setting the column: SQLite rewrites the entry of every index that names a set column. */
    endRun: syncChange(database, (db, param: Param<RunEnd>) => {
      const { config_version, ...changed } = endedRunValues(param)
      return (
        db
          .updateTable('runs')
          // A resumed run still has the error of its first end.
          .set({ ...changed, error: null })
          .where((is) => is.and(whereRun(param)))
          .where('fence', '=', param('fence'))
          .where('config_version', '=', config_version)
          .where(whereChat)
          .where(sql<boolean>`status = 'running'`)
          .where('has_notifications', 'is', null)
          .where('open_messages', 'is', null)
      )
    }),

    leaveSession: syncChange(database, (db, param: Param<EndedSession>) =>
      db
        .updateTable('sessions')
        .set({
          message_count: param('messageCount'),
          checkpoint_id: param('checkpointId'),
          updated_at: param('now'),
          active_run: null,
        })
        .where(whereSession(param))
        .where('active_run', '=', param('requestId')),
    ),

    deleteSteps: syncChange(database, deleteSteps),
    insertTool: syncChange(database, insertTool),
    addMetrics: syncChange(database, addMetrics),
  }
}
