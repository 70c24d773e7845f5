import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type RawBuilder } from 'kysely'
import { subOf } from '../../access/owner.ts'
import type { SeriesKey, SeriesRun, SeriesSpan, SeriesStore, ToolUseRecord } from '../../runs/reports/series.ts'
import { query, type Database } from '../database.ts'
import type { RunRow, RunToolRow } from '../tables.ts'
import { endedIn } from './log-counts.ts'

/** `SeriesStore` on either database. The index of ended runs covers all columns of a series, except of those by tool. */
export function createSeriesStore(database: Database): SeriesStore {
  return {
    runs: (tenant, span, key) =>
      pagesOf((before) => (key === 'tool' ? runsByTool(database, tenant, span, before) : runsOf(database, tenant, span, before, key))),
    toolUses: (tenant, span) => pagesOf((before) => toolUsesOf(database, tenant, span, before)),
  }
}

/** Rows per statement: SQLite runs a statement on the event loop, which serves other callers in between. */
const rowsPerPage = 1000

/** The values that an index orders by, of the last row of a page. */
type Position = readonly (string | number)[]

interface Page<T> {
  items: T[]
  last: Position | undefined
}

async function* pagesOf<T>(read: (before: Position | undefined) => Promise<Page<T>>): AsyncGenerator<T[]> {
  let before: Position | undefined
  do {
    const { items, last } = await read(before)
    if (items.length > 0) yield items
    before = items.length < rowsPerPage ? undefined : last
    await nextTurn()
  } while (before)
}

async function runsOf(
  { db, forTenant }: Database,
  tenant: string,
  { since, until }: SeriesSpan,
  before: Position | undefined,
  key: SeriesKey,
) {
  const columns = ['ended_at', 'request_id', 'owner'] as const
  const rows = db
    .selectFrom('runs')
    .select([...columns, 'status', 'latency_ms', 'total_tokens', 'cost', 'config_version', 'tool_errors'])
    .where(endedIn(tenant, { from: since, to: undefined }))
    .where(before ? isBefore(columns, before) : sql<boolean>`ended_at < ${until}`)
    .orderBy(newestFirst(columns))
    .limit(rowsPerPage)
  const result = await query(forTenant(tenant).read, rows)
  return toPage(result.rows, columns, (row) => toSeriesRun(row, keyOf(row, key)))
}

/** A join in this order: the tools of the span, then the run of each. A resumed run has its tools under the end before, and is left out. */
async function runsByTool({ db, forTenant }: Database, tenant: string, { since, until }: SeriesSpan, before: Position | undefined) {
  const columns = ['run_tools.ended_at', 'run_tools.request_id', 'run_tools.owner', 'run_tools.tool'] as const
  const rows = db
    .selectFrom('run_tools')
    .crossJoin('runs')
    .select([...columns, 'runs.status', 'runs.latency_ms', 'runs.total_tokens', 'runs.cost', 'runs.tool_errors'])
    .where('run_tools.tenant', '=', tenant)
    .where('run_tools.ended_at', '>=', since)
    .where(before ? isBefore(columns, before) : sql<boolean>`run_tools.ended_at < ${until}`)
    .where(sql<boolean>`(runs.tenant, runs.owner, runs.request_id) = (run_tools.tenant, run_tools.owner, run_tools.request_id)`)
    .where('runs.ended_at', '=', sql.ref<number>('run_tools.ended_at'))
    .orderBy(newestFirst(columns))
    .limit(rowsPerPage)
  const result = await query(forTenant(tenant).read, rows)
  return toPage(result.rows, ['ended_at', 'request_id', 'owner', 'tool'], (row) => toSeriesRun(row, row.tool))
}

async function toolUsesOf({ db, forTenant }: Database, tenant: string, { since, until }: SeriesSpan, before: Position | undefined) {
  const columns = ['ended_at', 'request_id', 'owner', 'tool'] as const
  const rows = db
    .selectFrom('run_tools')
    .select([...columns, 'calls', 'errors', 'durations'])
    .where('tenant', '=', tenant)
    .where('ended_at', '>=', since)
    .where(before ? isBefore(columns, before) : sql<boolean>`ended_at < ${until}`)
    .orderBy(newestFirst(columns))
    .limit(rowsPerPage)
  const result = await query(forTenant(tenant).read, rows)
  return toPage(result.rows, columns, toToolUse)
}

/** Takes the place of the upper bound of the span: with both, SQLite would read from the bound again for every page. */
function isBefore(columns: readonly string[], before: Position): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(columns.map((column) => sql.ref(column)))}) < (${sql.join(before)})`
}

function newestFirst(columns: readonly string[]) {
  return sql.join(columns.map((column) => sql`${sql.ref(column)} desc`))
}

function toPage<Row, T>(rows: readonly Row[], columns: readonly (keyof Row)[], toItem: (row: Row) => T): Page<T> {
  const last = rows.at(-1)
  return { items: rows.map(toItem), last: last && columns.map((column) => last[column] as string | number) }
}

function keyOf({ owner, config_version: version }: Pick<RunRow, 'owner' | 'config_version'>, key: SeriesKey): string | undefined {
  if (key === 'sub') return subOf({ owner })
  return key === 'version' ? (version ?? undefined) : undefined
}

type SeriesRow = Pick<RunRow, 'ended_at' | 'status' | 'latency_ms' | 'total_tokens' | 'cost' | 'tool_errors'>

function toSeriesRun(row: SeriesRow, key: string | undefined): SeriesRun {
  return {
    endedAt: row.ended_at ?? 0,
    status: row.status,
    latencyMs: row.latency_ms,
    tokens: row.total_tokens,
    cost: row.cost ?? undefined,
    hasToolErrors: row.tool_errors !== null,
    key,
  }
}

function toToolUse(row: Pick<RunToolRow, 'ended_at' | 'tool' | 'calls' | 'errors' | 'durations'>): ToolUseRecord {
  const durationsMs = JSON.parse(row.durations ?? '[]') as number[]
  return { endedAt: row.ended_at ?? 0, tool: row.tool, calls: row.calls, errors: row.errors, durationsMs }
}
