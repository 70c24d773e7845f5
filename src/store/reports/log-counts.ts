import { sql, type ExpressionBuilder, type Kysely, type RawBuilder } from 'kysely'
import type { Span } from '../../runs/reports/observability.ts'
import { query, type Connection } from '../database.ts'
import { hourMs, hourOf } from '../rows.ts'
import type { RunRow, Tables } from '../tables.ts'
import { whereChat } from '../runs/statements.ts'

/**
 * Counts of ended runs from the hourly metrics, so that neither a total nor a page offset reads millions of rows. The entries of an hour are
 * its counted runs without the removed ones.
 */

/** Selects the log entries of a tenant in a span: ended runs. The index of ended runs covers all columns. */
export function endedIn(tenant: string, { from, to }: Span) {
  return (is: ExpressionBuilder<Tables, 'runs'>) =>
    is.and([
      is('tenant', '=', tenant),
      // Literal, because the partial index of ended runs is not used otherwise.
      is('ended_at', 'is not', null),
      whereChat,
      ...(from === undefined ? [] : [is('ended_at', '>=', from)]),
      ...(to === undefined ? [] : [is('ended_at', '<=', to)]),
    ])
}

/** Counts log entries, exactly even while runs end. Whole hours are summed from the metrics; the rest is counted row by row. */
export async function countLogs(db: Kysely<Tables>, read: Connection, tenant: string, span: Span): Promise<number> {
  const { head, hours, tail } = partsOf(span)
  const countRuns = async (part: Span | undefined) => {
    if (!part) return 0
    const rows = db.selectFrom('runs').select(({ fn }) => fn.countAll<number>().as('count'))
    return (await query(read, rows.where(endedIn(tenant, part)))).rows[0]!.count
  }
  const whole = async () => {
    if (!hours) return 0
    const sum = db.selectFrom('metrics').select(sql<number>`cast(coalesce(sum(${entries}), 0) as bigint)`.as('count'))
    return (await query(read, sum.where(hoursIn(tenant, hours)))).rows[0]!.count
  }
  const counts = await Promise.all([countRuns(head), whole(), countRuns(tail)])
  return counts.reduce((sum, count) => sum + count, 0)
}

/** A shorter span and offset for the same entry: skips the newest whole hours before the entry. */
export async function narrowSpan(
  db: Kysely<Tables>,
  read: Connection,
  tenant: string,
  { offset, ...span }: Span & { offset: number },
): Promise<Span & { offset: number }> {
  const { hours, tail } = partsOf(span)
  const newest = tail ? await countLogs(db, read, tenant, tail) : 0
  if (!hours || offset < newest) return { ...span, offset }
  const find = async (unitMs: number, part: Hours, skipped: number) => {
    const found = await query(read, { compile: () => unitOfOffset(unitMs, tenant, part, skipped).compile(db) })
    return found.rows[0]
  }
  const day = await find(dayMs, hours, offset - newest)
  if (!day) return { ...span, offset }
  const ofDay = { from: Math.max(hours.from ?? 0, day.start), end: Math.min(hours.end ?? Infinity, day.start + dayMs) }
  const rest = offset - newest - day.before
  const hour = await find(hourMs, ofDay, rest)
  return hour
    ? { from: span.from, to: hour.start + hourMs - 1, offset: rest - hour.before }
    : { from: span.from, to: ofDay.end - 1, offset: rest }
}

const dayMs = 24 * hourMs

/**
 * The oldest day or hour (`unitMs`) with at most `offset` newer entries in the hours, and the number of newer entries (`before`). A year has
 * few days, which are sorted in a fraction of the time of its hours.
 */
function unitOfOffset(unitMs: number, tenant: string, hours: Hours, offset: number): RawBuilder<{ start: number; before: number }> {
  return sql`select start, before from (
      select start, cast(sum(count) over (order by start desc) - count as bigint) as before from (
        select hour - hour % ${sql.lit(unitMs)} as start, sum(${entries}) as count from metrics
          where tenant = ${tenant} and hour >= ${hours.from ?? 0} and hour < ${hours.end ?? Number.MAX_SAFE_INTEGER} group by 1
      ) as counted
    ) as placed where before <= ${offset} order by before desc, start limit 1`
}

/** Subtracts runs from the counts, in the unit that removes the runs from the logs. The runs are locked, or their session is deleted. */
export async function subtractFromLogCounts(
  connection: Connection,
  db: Kysely<Tables>,
  tenant: string,
  runs: readonly Pick<RunRow, 'ended_at'>[],
): Promise<void> {
  const zeroSums = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, latency_ms: 0, min_latency_ms: 0, max_latency_ms: 0 }
  // Sorted, so that concurrent removals cannot deadlock.
  const hours = [...Map.groupBy(runs, ({ ended_at: endedAt }) => hourOf(endedAt ?? 0))].toSorted(([a], [b]) => a - b)
  for (const [hour, { length: removed }] of hours) {
    const add = db
      .insertInto('metrics')
      .values({ tenant, hour, removed, ...zeroSums })
      .onConflict((conflict) =>
        conflict.columns(['tenant', 'hour']).doUpdateSet({ removed: sql<number>`metrics.removed + excluded.removed` }),
      )
    await query(connection, add)
  }
}

const entries = sql`success + error + cancelled + timeout - removed`

/** A range of whole hours in epoch milliseconds, `end` exclusive; undefined: no bound. */
interface Hours {
  from: number | undefined
  end: number | undefined
}

/** Splits a span into its whole hours, and the parts before and after. */
function partsOf({ from, to }: Span): { head?: Span; hours?: Hours; tail?: Span } {
  const first = from === undefined ? undefined : hourOf(from + hourMs - 1)
  const end = to === undefined ? undefined : hourOf(to + 1)
  if (first !== undefined && end !== undefined && first >= end) return { tail: { from, to } }
  return {
    ...(first !== undefined && from! < first ? { head: { from, to: first - 1 } } : {}),
    hours: { from: first, end },
    ...(end !== undefined && to! >= end ? { tail: { from: end, to } } : {}),
  }
}

function hoursIn(tenant: string, { from, end }: Hours) {
  return (is: ExpressionBuilder<Tables, 'metrics'>) =>
    is.and([
      is('tenant', '=', tenant),
      ...(from === undefined ? [] : [is('hour', '>=', from)]),
      ...(end === undefined ? [] : [is('hour', '<', end)]),
    ])
}
