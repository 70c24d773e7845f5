import { sql, type Kysely, type QueryCreator, type RawBuilder } from 'kysely'
import { ServiceError } from '../../errors.ts'
import type { Begun, NewRun, StoredRun } from '../../runs/run-store.ts'
import { CommitUnknown, type Database } from '../database.ts'
import { toText, toWindow } from '../rows.ts'
import {
  endedRunValues,
  metricsValues,
  newRunValues,
  toEndedRow,
  toMessageRow,
  toMetrics,
  toNewRunRow,
  toToolRows,
  toolColumns,
  type MessageColumns,
  type NewMetrics,
  type NewRunColumns,
  type RunEnd,
} from './columns.ts'
import { addedMetrics, claimSession, renewTool, whereRun, whereSession, type EndedSession, type SessionClaim } from './statements.ts'
import { definitionsOf } from './group-rows.ts'
import { isSimpleBegin, isSimpleEnd, unchanged, type Attempt, type Ending, type FastPath } from './simple-chat.ts'
import { mapColumns, statement, type Param, type Result } from '../statement.ts'
import type { SessionRow, Tables } from '../tables.ts'

type BeginValues = SessionClaim & NewRunColumns & MessageColumns
type EndValues = EndedSession & RunEnd & NewMetrics & MessageColumns & { dropsSteps: boolean; tools: string }

/** The fast path of simple chats on Postgres: one statement for the begin of a run and one for its end, instead of a round trip per query. */
export function createSingleStatementChat({ db, forTenant }: Database): FastPath {
  const statements = singleStatements(db)

  /** `unchanged` when the run is not simple, or when the session is busy. */
  async function begin(newRun: NewRun): Promise<Attempt<Begun>> {
    const [message] = newRun.messages
    if (!message || !isSimpleBegin(newRun)) return unchanged
    const session = { ...newRun, shortName: toText(newRun.shortName), messages: 1 }
    const values = { ...session, ...toNewRunRow(newRun), ...toMessageRow(message) }
    const attempt = await firstRow(statements.begin(forTenant(newRun.tenant).write, values))
    return attempt.kind === 'done' ? { kind: 'done', result: toBegun(attempt.result) } : attempt
  }

  async function findBegun({ tenant, holder }: NewRun, storedRun: StoredRun): Promise<Begun | undefined> {
    const { session, status, fence } = storedRun
    if (storedRun.holder !== holder || fence !== 1 || status !== 'running' || session === undefined) return undefined
    const { rows } = await statements.sessionOf(forTenant(tenant).read, { tenant, session })
    return rows[0] && toBegun(rows[0])
  }

  /** `unchanged` when the run is not simple or has notifications, or when another run waits for the session. */
  async function finish({ key, fence, ended, hourRow }: Ending): Promise<Attempt<unknown>> {
    const { message } = ended
    if (!message || !isSimpleEnd(ended)) return unchanged
    const values = {
      ...key,
      ...ended,
      ...toEndedRow(ended),
      ...toMetrics(key.tenant, ended, hourRow),
      ...toMessageRow(message),
      fence,
      now: ended.endedAt,
      dropsSteps: ended.hadCheckpoints && !ended.continuable,
      tools: JSON.stringify(toToolRows(ended)),
    }
    // An unreachable database counts as `unknown`: `finishByStep` retries for longer than this statement.
    return firstRow(statements.finish(forTenant(key.tenant).write, values)).catch(unlessAway)
  }

  return { begin, findBegun, finish }
}

/** The run has begun with the last message of the session. */
export function toBegun(session: Pick<SessionRow, 'key' | 'message_count' | 'window_start' | 'summary'>): Begun {
  const { key, message_count: messageCount } = session
  return { kind: 'running', fence: 1, turn: { session: key, messageIndex: messageCount - 1, messageCount, ...toWindow(session) } }
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

/** SQLSTATE codes: unique_violation and not_null_violation. */
const refusals = new Set<unknown>(['23505', '23502'])

/**
 * The two transactions of a simple chat as one statement each, for Postgres, so that each costs a single round trip. A statement does
 * everything, or changes nothing: then it returns no row, or violates a constraint.
 */
function singleStatements(database: Kysely<Tables>) {
  return {
    /** Begins a run with one message in a free session. A known request id violates the primary key. */
    begin: statement(database, (db, param: Param<BeginValues>) => {
      const fromSession = sql`from session where active_run = ${param('requestId')}`
      const [key, index] = [sql`session.key`, sql`session.message_count - 1`]
      return db
        .with('session', (ctes) => claimSession(ctes, param))
        .with('run', (ctes) =>
          insert(ctes, 'runs', { ...newRunValues(param), session: key, status: sql.lit('running'), message_index: index }, fromSession),
        )
        .with('message', (ctes) => insert(ctes, 'messages', { ...message(param), session: key, idx: index }, fromSession))
        .selectFrom('session')
        .selectAll()
        .where('active_run', '=', param('requestId'))
    }),

    sessionOf: statement(database, (db, param: Param<{ tenant: string; session: string }>) =>
      db.selectFrom('sessions').select(['key', 'message_count', 'window_start', 'summary']).where(whereSession(param)),
    ),

    /**
     * Ends a run with an answer when the session queue is empty. A statement sees the rows of its start, even after waiting for a lock, so
     * `finish` changes the session only when its `xmin` is unchanged. Every join of the queue and every move of a run updates the session.
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
            // A literal status, because the partial index is not used with a parameter.
            .where(
              sql<boolean>`not exists (select from runs where tenant = ${param('tenant')} and session = ${param('session')} and status = 'pending')`,
            )
            .returning('key'),
        )
        .with('run', (ctes) =>
          ctes
            .updateTable('runs')
            .from('session')
            // A run with notifications, or taken over by another process, would get a null status: the constraint of the column fails the whole statement.
            .set({
              ...endedRunValues(param),
              // A resumed run still has the error of its first end.
              error: null,
              status: sql<string>`case when fence = ${param('fence')} and status = 'running' and has_notifications is null then ${param('status')} end`,
            })
            .where((is) => is.and(whereRun(param)))
            .returning(['request_id as ended', 'created_at', 'sub', 'config_version']),
        )
        .with('message', (ctes) => {
          const last = sql`${param('messageCount')} - 1`
          return insert(ctes, 'messages', { ...message(param), session: param('session'), idx: last }, sql`from run`)
        })
        .with('steps', (ctes) =>
          ctes
            .deleteFrom('run_steps')
            .using('run')
            .where((is) => is.and(whereRun(param)))
            .where(sql<boolean>`${param('dropsSteps')}`),
        )
        .with('tools', (ctes) => {
          const used = mapColumns(toolColumns, (name) => sql.ref(`used.${name}`))
          const stored = { sub: sql`run.sub`, config_version: sql`run.config_version`, created_at: sql`run.created_at` }
          const row = { ...whereRun(param), ...used, ...stored }
          const columns = sql.raw(definitionsOf(toolColumns))
          const rows = sql`from run, json_to_recordset(cast(${param('tools')} as json)) as used (${columns})`
          return insert(ctes, 'run_tools', row, rows).onConflict(renewTool)
        })
        // Last, because all runs of a tenant lock this row at their end.
        .with('sums', (ctes) =>
          insert(ctes, 'metrics', metricsValues(param), sql`from run`).onConflict((conflict) =>
            conflict.columns(['tenant', 'hour']).doUpdateSet(addedMetrics),
          ),
        )
        .selectFrom('run')
        .selectAll(),
    ),
  }
}

function message(param: Param<MessageColumns & { tenant: string }>) {
  return { tenant: param('tenant'), role: param('role'), content: param('content'), created_at: param('message_at'), data: param('data') }
}

/** Inserts the values of `row` once for each row of `source`. */
function insert<T extends 'runs' | 'messages' | 'metrics' | 'run_tools'>(
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
