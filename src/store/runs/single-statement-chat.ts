import { sql, type Kysely, type QueryCreator, type RawBuilder } from 'kysely'
import { ServiceError } from '../../errors.ts'
import type { Begun, EndedRun, NewMessage, NewRun, StoredRun } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { CommitUnknown, type Database } from '../database.ts'
import { json, toEndedRow, toMetrics, toText, toWindow } from '../rows.ts'
import {
  claimSession,
  endedRun,
  newMetrics,
  newRun,
  whereRun,
  whereSession,
  summedMetrics,
  type SessionClaim,
  type EndedRunRow,
  type EndedSession,
  type NewMetrics,
  type NewRunRow,
} from './statements.ts'
import { statement, type Param, type Result } from '../statement.ts'
import type { MessageRow, SessionRow, Tables } from '../tables.ts'

type MessageColumns = Pick<MessageRow, 'content' | 'created_at' | 'data'>
type BeginValues = SessionClaim & Omit<NewRunRow, 'session' | 'status' | 'message_index'> & MessageColumns
type EndValues = EndedSession & Omit<EndedRunRow, 'error'> & NewMetrics & MessageColumns & { dropsSteps: boolean }

/** A run that ends, and in which row of its hour. */
export interface Ending {
  key: RunKey
  fence: number
  ended: EndedRun
  hourRow: number
}

/**
 * What came of a single statement. `done`: it is stored. `unchanged`: it did not apply and nothing is changed, so the work is to be done step
 * by step. `unknown`: the answer of the database was lost, the statement may have been stored.
 */
type Attempt<R> = { kind: 'done'; result: R } | { kind: 'unchanged' } | { kind: 'unknown' }

const unchanged = { kind: 'unchanged' } as const

/** A run of a plain chat as one statement each for its begin and its end; on Postgres, where each statement of a transaction costs a round trip. */
export function createSingleStatementChat({ db, forTenant }: Database) {
  const statements = singleStatements(db)

  /** `unchanged` where the run is not plain, or does not get its session at once. */
  async function begin(newRun: NewRun): Promise<Attempt<Begun>> {
    const [message, ...otherMessages] = newRun.messages
    if (!message || otherMessages.length > 0 || newRun.event || newRun.images) return unchanged
    const values = { ...newRun, ...toMessage(message), shortName: toText(newRun.shortName), messages: 1 }
    const row = {
      session_id: newRun.sessionId,
      body_hash: newRun.bodyHash,
      request: JSON.stringify(newRun.request),
      on_disconnect: newRun.onDisconnect,
    }
    const attempt = await firstRow(statements.begin(forTenant(newRun.tenant).write, { ...values, ...row }))
    return attempt.kind === 'done' ? { kind: 'done', result: toBegun(attempt.result) } : attempt
  }

  /** Of a run whose begin is `unknown`: what is stored under its request id is what it came to, if it is this process's own. */
  async function findBegun({ tenant, holder }: NewRun, storedRun: StoredRun): Promise<Begun | undefined> {
    const { session, status, fence } = storedRun
    if (storedRun.holder !== holder || fence !== 1 || status !== 'running' || session === undefined) return undefined
    const { rows } = await statements.sessionOf(forTenant(tenant).read, { tenant, session })
    return rows[0] && toBegun(rows[0])
  }

  /** `unchanged` where the end is not plain, or another run waits for the session. */
  async function finish({ key, fence, ended, hourRow }: Ending): Promise<Attempt<unknown>> {
    const { message, error, jobs } = ended
    if (!message || error || jobs.length > 0 || ended.dropsResultImages) return unchanged
    const row = { ...toEndedRow(key, fence, ended), ...toMetrics(key.tenant, ended, hourRow), ...toMessage(message) }
    const values = { ...ended, ...row, now: ended.endedAt, dropsSteps: ended.hadCheckpoints && !ended.continuable }
    // `finishByStep` waits longer for a database that is away than this statement does.
    return firstRow(statements.finish(forTenant(key.tenant).write, values)).catch(unlessAway)
  }

  return { begin, findBegun, finish }
}

/** The session's human message is the last one. */
function toBegun(session: Pick<SessionRow, 'key' | 'message_count' | 'window_start' | 'summary'>): Begun {
  const { key, message_count: messageCount } = session
  return { kind: 'running', fence: 1, turn: { session: key, messageIndex: messageCount - 1, messageCount, ...toWindow(session) } }
}

function toMessage({ content, createdAt, data }: NewMessage): MessageColumns {
  return { content: toText(content), created_at: createdAt, data: json(data) }
}

/** The first row; `unchanged` where there is none, or where the database refuses what would break a constraint. */
async function firstRow<R>(result: Promise<Result<R>>): Promise<Attempt<R>> {
  try {
    const row = (await result).rows[0]
    return row ? { kind: 'done', result: row } : unchanged
  } catch (error) {
    if (error instanceof CommitUnknown) return { kind: 'unknown' }
    if (error instanceof Error && 'code' in error && refusals.has(error.code)) return unchanged
    throw error
  }
}

function unlessAway(error: unknown): { kind: 'unknown' } {
  if (error instanceof ServiceError && error.code === 'store_unavailable') return { kind: 'unknown' }
  throw error
}

/** SQLSTATE: a key is there twice, a column has no value. */
const refusals = new Set<unknown>(['23505', '23502'])

/**
 * The two transactions of a plain chat as one statement each, for Postgres: one answer is waited for, and not one after another. Each does
 * all of it or changes nothing: then it answers with no row, or the database refuses it.
 */
function singleStatements(database: Kysely<Tables>) {
  return {
    /** Of a run with one message that gets its session at once. A known request id is refused as a key that is there twice. */
    begin: statement(database, (db, param: Param<BeginValues>) => {
      const fromSession = sql`from session where active_run = ${param('requestId')}`
      const [key, index] = [sql`session.key`, sql`session.message_count - 1`]
      return db
        .with('session', (ctes) => claimSession(ctes, param))
        .with('run', (ctes) =>
          insert(ctes, 'runs', { ...newRun(param), session: key, status: sql.lit('running'), message_index: index }, fromSession),
        )
        .with('message', (ctes) => insert(ctes, 'messages', { ...message(param, 'human'), session: key, idx: index }, fromSession))
        .selectFrom('session')
        .selectAll()
        .where('active_run', '=', param('requestId'))
    }),

    sessionOf: statement(database, (db, param: Param<{ tenant: string; session: string }>) =>
      db.selectFrom('sessions').select(['key', 'message_count', 'window_start', 'summary']).where(whereSession(param)),
    ),

    /**
     * Of a run with an answer, in whose session nobody waits. A statement sees what was there when it began, and may have waited since for
     * who had the session's row: it changes that row as it saw it, or nothing. All who join the line or move a run change it.
     */
    finish: statement(database, (db, param: Param<EndValues>) =>
      db
        .with(
          (cte) => cte('seen').materialized(),
          (ctes) =>
            ctes
              .selectFrom('sessions')
              .select(sql`xmin`.as('version'))
              .where(whereSession(param)),
        )
        .with('session', (ctes) =>
          ctes
            .updateTable('sessions')
            .from('seen')
            .set({
              message_count: param('messageCount'),
              checkpoint_id: param('checkpointId'),
              updated_at: param('now'),
              active_run: null,
            })
            .where(whereSession(param))
            .where('active_run', '=', param('requestId'))
            .where(sql<boolean>`sessions.xmin = seen.version`)
            // The status stands in the text: only so is the partial index used.
            .where(
              sql<boolean>`not exists (select from runs where tenant = ${param('tenant')} and session = ${param('session')} and status = 'pending')`,
            )
            .returning('key'),
        )
        .with('run', (ctes) =>
          ctes
            .updateTable('runs')
            .from('session')
            // A run that belongs to another process by now gets no status, which its column refuses: nothing of the statement is done.
            .set({
              ...endedRun(param),
              // One that goes on after a failure has that of its first end.
              error: null,
              status: sql<string>`case when fence = ${param('fence')} and status = 'running' then ${param('status')} end`,
            })
            .where((is) => is.and(whereRun(param)))
            .returning('request_id as ended'),
        )
        .with('message', (ctes) => {
          const last = sql`${param('messageCount')} - 1`
          return insert(ctes, 'messages', { ...message(param, 'ai'), session: param('session'), idx: last }, sql`from run`)
        })
        .with('steps', (ctes) =>
          ctes
            .deleteFrom('run_steps')
            .using('run')
            .where((is) => is.and(whereRun(param)))
            .where(sql<boolean>`${param('dropsSteps')}`),
        )
        // Last: all of a tenant's ends meet in this row.
        .with('sums', (ctes) =>
          insert(ctes, 'metrics', newMetrics(param), sql`from run`).onConflict((conflict) =>
            conflict.columns(['tenant', 'hour']).doUpdateSet(summedMetrics),
          ),
        )
        .selectFrom('run')
        .selectAll(),
    ),
  }
}

function message(param: Param<MessageColumns & { tenant: string }>, role: MessageRow['role']) {
  return {
    tenant: param('tenant'),
    role: sql.lit(role),
    content: param('content'),
    created_at: param('created_at'),
    data: param('data'),
  }
}

/** A row of these values for each that is selected. */
function insert<T extends 'runs' | 'messages' | 'metrics'>(
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
