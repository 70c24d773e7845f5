import { sql, type ExpressionBuilder, type Kysely, type RawBuilder } from 'kysely'
import type { Span } from '../../runs/reports/run-reports.ts'
import { query } from '../database.ts'
import { hourMs, hourOf } from '../rows.ts'
import type { Connection } from '../statement.ts'
import type { RunRow, Tables } from '../tables.ts'
import { whereChat } from '../runs/where-chat.ts'

/**
 * How many ended runs there are, by the hours that have counted them: millions are never looked at to tell their number, or to find a place
 * among them. An hour's entries are the ends that it counts, without what was removed since.
 */

/** Ended runs of a tenant in a span, as its logs have them. All of it stands in the index of ended runs. */
export function endedIn(tenant: string, { from, to }: Span) {
  return (is: ExpressionBuilder<Tables, 'runs'>) =>
    is.and([
      is('tenant', '=', tenant),
      // In the text: only so is the index used, which has ended runs alone.
      is('ended_at', 'is not', null),
      whereChat,
      ...(from === undefined ? [] : [is('ended_at', '>=', from)]),
      ...(to === undefined ? [] : [is('ended_at', '<=', to)]),
    ])
}

/** Exact, also while runs end; what is behind the whole hours of a span is counted one by one. */
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

/** Where the entry `offset` places behind the newest of a span is: so many behind the newest of a shorter one. */
export async function narrowSpan(
  db: Kysely<Tables>,
  read: Connection,
  tenant: string,
  { offset, ...span }: Span & { offset: number },
): Promise<Span & { offset: number }> {
  const { hours, tail } = partsOf(span)
  const newest = tail ? await countLogs(db, read, tenant, tail) : 0
  if (!hours || offset < newest) return { ...span, offset }
  const result = await query(read, { compile: () => hourOfOffset(tenant, hours, offset - newest).compile(db) })
  const hour = result.rows[0]
  if (!hour) return { ...span, offset }
  return { from: span.from, to: hour.start + hourMs - 1, offset: offset - newest - hour.before }
}

/** The last hour that has no more entries before it, newest first, than so many. */
function hourOfOffset(tenant: string, hours: Hours, offset: number): RawBuilder<{ start: number; before: number }> {
  return sql`select start, before from (
      select start, cast(sum(count) over (order by start desc) - count as bigint) as before from (
        select hour - hour % ${sql.lit(hourMs)} as start, sum(${entries}) as count from metrics
          where tenant = ${tenant} and hour >= ${hours.from ?? 0} and hour < ${hours.end ?? Number.MAX_SAFE_INTEGER} group by 1
      ) as counted
    ) as placed where before <= ${offset} order by before desc, start limit 1`
}

/** Says, in the unit that does it, that runs which ended then leave the logs. They are locked, or their session is gone. */
export async function uncount(
  connection: Connection,
  db: Kysely<Tables>,
  tenant: string,
  runs: readonly Pick<RunRow, 'ended_at'>[],
): Promise<void> {
  const zeroSums = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, latency_ms: 0, min_latency_ms: 0, max_latency_ms: 0 }
  // In one order: two that remove at once do not wait for each other.
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

/** From the start of an hour to the end of one; undefined: no bound. */
interface Hours {
  from: number | undefined
  end: number | undefined
}

/** A span as the whole hours in it, and what is before and behind them. */
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
