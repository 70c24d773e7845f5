import { sql, type ExpressionBuilder } from 'kysely'
import type { EndedRunRecord, RunReports } from '../../runs/reports/observability.ts'
import { asyncOperations } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { countLogs, endedIn, narrowSpan } from './log-counts.ts'
import { hourMs, hourOf, parseJson } from '../rows.ts'
import type { MetricsRow, RunRow, Tables } from '../tables.ts'
import { whereChat } from '../runs/statements.ts'
import { callerKey, type Owner } from '../../access/owner.ts'

/** `RunReports` on either database. */
export function createRunReports({ db, forTenant }: Database): RunReports {
  const entries = () =>
    db
      .selectFrom('runs')
      .select(['request_id', 'agent', 'model', 'status', 'error', 'latency_ms', 'ended_at', 'completion_tokens', 'total_tokens'])

  return {
    async sums(tenant, { from, to }) {
      const inSpan = (is: ExpressionBuilder<Tables, 'metrics'>) =>
        is.and([
          is('tenant', '=', tenant),
          ...(from === undefined ? [] : [is('hour', '>=', hourOf(from))]),
          ...(to === undefined ? [] : [is('hour', '<', hourOf(to) + hourMs)]),
        ])
      // The extremes of an hour without counted runs (all were resumed) are ignored.
      const sums = db
        .selectFrom('metrics')
        .select([
          ...summed.map((column) => sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`.as(column)),
          sql<number>`coalesce(min(case when ${countedRuns} > 0 then min_latency_ms end), 0)`.as('min_latency_ms'),
          sql<number>`coalesce(max(case when ${countedRuns} > 0 then max_latency_ms end), 0)`.as('max_latency_ms'),
        ])
        .where(inSpan)
      const row = (await query(forTenant(tenant).read, sums)).rows[0]!
      const { success, error, cancelled, timeout } = row
      return {
        counts: { success, error, cancelled, timeout },
        promptTokens: row.prompt_tokens,
        completionTokens: row.completion_tokens,
        totalTokens: row.total_tokens,
        latencyMs: row.latency_ms,
        minLatencyMs: row.min_latency_ms,
        maxLatencyMs: row.max_latency_ms,
      }
    },

    async ended(tenant, { limit, ...page }) {
      const { read } = forTenant(tenant)
      const { offset, ...span } = page.offset < farOffset ? page : await narrowSpan(db, read, tenant, page)
      const pageOfEntries = entries()
        .where(endedIn(tenant, span))
        .orderBy('ended_at', 'desc')
        .orderBy('request_id', 'desc')
        .limit(limit)
        .offset(offset)
      return (await query(read, pageOfEntries)).rows.map(toRecord)
    },

    count: (tenant, span) => countLogs(db, forTenant(tenant).read, tenant, span),

    async withRequestId(tenant, requestId, span) {
      // The request id finds the runs: a sum is in no index, or SQLite would read all ended runs of the tenant.
      const endedAt = sql<number>`ended_at + 0`
      const entriesOfRequest = entries()
        .where((is) => is.and({ tenant, request_id: requestId }))
        .where(whereChat)
        .where(sql<boolean>`${endedAt} between ${span.from ?? 0} and ${span.to ?? Number.MAX_SAFE_INTEGER}`)
        .orderBy(endedAt, 'desc')
        .orderBy('owner')
      return (await query(forTenant(tenant).read, entriesOfRequest)).rows.map(toRecord)
    },
  }
}

const summed = [
  'success',
  'error',
  'cancelled',
  'timeout',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'latency_ms',
] as const satisfies (keyof MetricsRow)[]

const countedRuns = sql`(success + error + cancelled + timeout)`

/** Offset from which `narrowSpan` pays off; smaller offsets are skipped row by row. */
const farOffset = 1000

type LogEntryRow = Pick<
  RunRow,
  'request_id' | 'agent' | 'model' | 'status' | 'error' | 'latency_ms' | 'ended_at' | 'completion_tokens' | 'total_tokens'
>

function toRecord(row: LogEntryRow): EndedRunRecord {
  return {
    requestId: row.request_id,
    agent: row.agent,
    model: row.model,
    status: row.status,
    error: parseJson(row.error),
    latencyMs: row.latency_ms,
    endedAt: row.ended_at ?? 0,
    completionTokens: row.completion_tokens,
    totalTokens: row.total_tokens,
  }
}

/**
 * Counts the unended chats of a caller in all processes. A chat in the queue of its session counts, unless the chat is asynchronous.
 * Concurrent calls for one caller share one query.
 */
export function createRunCount({ db, forTenant }: Database): (caller: Owner) => Promise<number> {
  const pendingCounts = new Map<string, Promise<number>>()

  async function count({ tenant, owner }: Owner): Promise<number> {
    const activeRuns = db
      .selectFrom('runs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('owner', '=', owner)
      // Literal, as in the condition of the index of unended runs.
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where(whereChat)
      .where(({ eb, or }) => or([eb('status', '=', 'running'), eb('operation', 'not in', asyncOperations)]))
    return (await query(forTenant(tenant).read, activeRuns)).rows[0]?.count ?? 0
  }

  return (caller) => {
    const name = callerKey(caller)
    const pendingCount = pendingCounts.get(name)
    if (pendingCount) return pendingCount
    const answer = count(caller).finally(() => pendingCounts.delete(name))
    pendingCounts.set(name, answer)
    return answer
  }
}
