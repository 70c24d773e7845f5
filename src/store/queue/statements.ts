import { sql, type Kysely } from 'kysely'
import { placeOf, whereRun, whereSession, unindexedTenant, whereChat } from '../runs/statements.ts'
import type { RunKey } from '../../runs/run.ts'
import { statement, type Param } from '../database.ts'
import type { RunRow, Tables } from '../tables.ts'

interface SessionRef {
  tenant: string
  session: string
}

/** A run as it was read. Statements with these values leave a run alone that has changed since. */
type ReadRun = RunKey & Pick<RunRow, 'fence' | 'status'>

function whereUnchanged(param: Param<ReadRun>) {
  return { ...whereRun(param), fence: param('fence'), status: param('status') }
}

type TakenRun = ReadRun & Pick<RunRow, 'holder' | 'session' | 'place' | 'losses'> & { newFence: number; acceptedBy: string }
type EnteredSession = SessionRef & { requestId: string; messageCount: number; now: number }
type EndedWaitingRun = ReadRun &
  Pick<RunRow, 'request' | 'error' | 'log' | 'finish_reason' | 'continuable'> & { newStatus: string; now: number }
type SubtractedMetrics = Pick<RunRow, 'tenant' | 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'latency_ms'> & {
  hour: number
  success: number
  error: number
  cancelled: number
  timeout: number
}

/** The statements that move a run through the queue of its session, compiled once. */
export function queueStatements(database: Kysely<Tables>) {
  return { ...turnStatements(database), ...moveStatements(database), ...recountStatements(database) }
}

/** The turn of a run in its session. */
function turnStatements(database: Kysely<Tables>) {
  return {
    /** A waiting run, and the active run of its session with its status. */
    findTurn: statement(database, (db, param: Param<RunKey>) =>
      db
        .selectFrom('runs')
        .innerJoin('sessions', 'sessions.key', 'runs.session')
        .innerJoin('runs as active', (join) =>
          join
            .onRef('active.tenant', '=', 'runs.tenant')
            .onRef('active.owner', '=', 'runs.owner')
            .onRef('active.request_id', '=', 'sessions.active_run'),
        )
        .select([
          'runs.session',
          'runs.fence',
          'runs.message_index',
          'runs.session_id',
          'sessions.active_run',
          'active.status as active_status',
        ])
        .where('runs.tenant', '=', param('tenant'))
        .where(sql<boolean>`${unindexedTenant} = ${param('tenant')}`)
        .where('runs.owner', '=', param('owner'))
        .where('runs.request_id', '=', param('requestId'))
        .where('runs.status', '=', 'pending'),
    ),

    holderOf: statement(database, (db, param: Param<RunKey>) =>
      db
        .selectFrom('runs')
        .select(['holder', 'fence'])
        .where((is) => is.and(whereRun(param))),
    ),

    /** Locks a session. First statement of every unit that changes a session or its queue, so that units cannot deadlock. */
    lockSession: statement(database, (db, param: Param<SessionRef>) =>
      db
        .updateTable('sessions')
        .set({ active_run: sql.ref('active_run') })
        .where(whereSession(param))
        .returning(['active_run', 'message_count', 'window_start', 'summary']),
    ),

    enterSession: statement(database, (db, param: Param<EnteredSession>) =>
      db
        .updateTable('sessions')
        .set({ active_run: param('requestId'), message_count: param('messageCount'), updated_at: param('now') })
        .where(whereSession(param)),
    ),

    giveSession: statement(database, (db, param: Param<SessionRef & { requestId: string }>) =>
      db
        .updateTable('sessions')
        .set({ active_run: param('requestId') })
        .where(whereSession(param)),
    ),
  }
}

/** Changes of a run, as long as the run is as it was read. */
function moveStatements(database: Kysely<Tables>) {
  return {
    startRun: statement(database, (db, param: Param<ReadRun & { messageIndex: number; now: number }>) =>
      db
        .updateTable('runs')
        .set({
          status: 'running',
          message_index: param('messageIndex'),
          // A resumed run after an interruption keeps its start time.
          started_at: sql`case when ran_ms > 0 then started_at else ${param('now')} end`,
        })
        .where((is) => is.and(whereUnchanged(param)))
        .returning('request_id'),
    ),

    takeRun: statement(database, (db, param: Param<TakenRun>) =>
      db
        .updateTable('runs')
        .set({
          fence: param('newFence'),
          holder: param('holder'),
          // A repeated request arrives anew.
          place: sql`case when ended_at is null then place else ${placeOf(param)} end`,
          losses: param('losses'),
          status: 'pending',
          // A repeated request resets the execution time.
          ran_ms: sql`case when ended_at is null then ran_ms else 0 end`,
          ended_at: null,
          finish_reason: null,
          continuable: 0,
        })
        .where((is) => is.and(whereUnchanged(param)))
        .returning('request_id'),
    ),

    /** Makes a run unclaimed. */
    releaseRun: statement(database, (db, param: Param<ReadRun & Pick<RunRow, 'losses'>>) =>
      db
        .updateTable('runs')
        .set({ fence: sql`fence + 1`, holder: '', status: 'pending', losses: param('losses') })
        .where((is) => is.and(whereUnchanged(param)))
        .returning('fence'),
    ),

    deleteRun: statement(database, (db, param: Param<ReadRun>) =>
      db
        .deleteFrom('runs')
        .where((is) => is.and(whereUnchanged(param)))
        .returning('request_id'),
    ),

    endWaiting: statement(database, (db, param: Param<EndedWaitingRun>) =>
      db
        .updateTable('runs')
        .set({
          status: param('newStatus'),
          finish_reason: param('finish_reason'),
          continuable: param('continuable'),
          request: param('request'),
          error: param('error'),
          log: param('log'),
          ended_at: param('now'),
          latency_ms: 0,
        })
        .where((is) => is.and(whereUnchanged(param)))
        .returning('has_notifications'),
    ),
  }
}

/** The sums of an hour without a run that is resumed. */
function recountStatements(database: Kysely<Tables>) {
  return {
    subtractMetrics: statement(database, (db, param: Param<SubtractedMetrics>) =>
      db
        .updateTable('metrics')
        .set({
          success: sql`success - ${param('success')}`,
          error: sql`error - ${param('error')}`,
          cancelled: sql`cancelled - ${param('cancelled')}`,
          timeout: sql`timeout - ${param('timeout')}`,
          prompt_tokens: sql`prompt_tokens - ${param('prompt_tokens')}`,
          completion_tokens: sql`completion_tokens - ${param('completion_tokens')}`,
          total_tokens: sql`total_tokens - ${param('total_tokens')}`,
          latency_ms: sql`latency_ms - ${param('latency_ms')}`,
        })
        .where('tenant', '=', param('tenant'))
        .where('hour', '=', param('hour'))
        .returning(['min_latency_ms', 'max_latency_ms']),
    ),

    /** Recomputes the extremes of an hour from its runs: unlike sums, extremes cannot be subtracted. */
    renewExtremes: statement(database, (db, param: Param<{ tenant: string; hour: number; nextHour: number }>) => {
      const ofHour = (extreme: 'min' | 'max') =>
        sql<number>`coalesce((select ${sql.raw(extreme)}(runs.latency_ms) from runs where runs.tenant = ${param('tenant')}
          and runs.ended_at is not null and runs.ended_at >= ${param('hour')} and runs.ended_at < ${param('nextHour')}
          and ${whereChat}), ${sql.ref(`${extreme}_latency_ms`)})`
      return db
        .updateTable('metrics')
        .set({ min_latency_ms: ofHour('min'), max_latency_ms: ofHour('max') })
        .where('tenant', '=', param('tenant'))
        .where('hour', '=', param('hour'))
    }),
  }
}
