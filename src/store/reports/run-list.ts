import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import { subOf, type Owner } from '../../access/owner.ts'
import type { ListedRun, RunListStore, RunPage } from '../../runs/run-list.ts'
import type { Operation, RunStatus } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { parseJson } from '../rows.ts'
import { choosePath, hasToolErrors, indexes, isListed, isUnsuccessful, type Path } from './run-list-paths.ts'
import type { RunRow, RunToolRow, Tables } from '../tables.ts'

/** `RunListStore` on either database. A page reads at most `fewRuns` runs singly if a filter selects no more. */
export function createRunListStore(database: Database, fewRuns = 2000): RunListStore {
  return {
    async list(caller, page) {
      // The runs of a caller all have its own `sub`: no run need be read to find none.
      if (!page.anyOwner && page.sub !== undefined && page.sub !== subOf(caller)) return []
      const path = await choosePath(database, caller, page, fewRuns)
      const { rows } = await query(database.forTenant(caller.tenant).read, pageOf(database, caller, page, path))
      return rows.map((row) => toListedRun(caller.tenant, row))
    },
  }
}

/** What a list reads of a run. */
const columns = [
  'owner',
  'request_id',
  'session_id',
  'operation',
  'status',
  'created_at',
  'started_at',
  'ended_at',
  'input',
  'total_tokens',
  'cost',
  'tool_errors',
  'error',
  'config_version',
  'continues',
] as const satisfies (keyof RunRow)[]

function pageOf(database: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage, path: Path) {
  if (page.operation !== undefined || (path !== 'version' && path !== 'time')) return inOrder(database, caller, page, path)
  const [first, ...others] = listedOperations.map((operation) => partOf(database, caller, { ...page, operation }, path))
  return others
    .reduce((merged, runs) => merged.unionAll(runs), first!)
    .orderBy(sql`created_at desc, request_id desc, owner desc`)
    .limit(page.limit)
}

/** All operations but `tool_execute`, whose executions are in no list. */
const listed: Record<Exclude<Operation, 'tool_execute' | 'experiment'>, true> = {
  chain: true,
  chain_streaming: true,
  chain_async: true,
  schedule: true,
}
/** The indexes of the paths `version` and `time` have the operation before the order: a list of all operations merges these. */
const listedOperations = Object.keys(listed) as Operation[]

/** SQLite merges parts without a limit while it reads them; Postgres would read and sort them as a whole. */
function partOf(database: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage, path: Path) {
  if (!database.isShared) return runsOf(database, caller, page, path)
  return database.db.selectFrom(inOrder(database, caller, page, path).as('part')).selectAll() as unknown as ReturnType<typeof runsOf>
}

function inOrder(database: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage, path: Path) {
  const position = positionOf(path).map((column) => sql`${column} desc`)
  return runsOf(database, caller, page, path).orderBy(sql.join(position)).limit(page.limit)
}

function runsOf({ db, isShared }: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage, path: Path) {
  const ofPage = [...ofCaller(caller, page, path, isShared), ...filtersOf(caller, page, path), ...boundsOf(page, path)]
  return (isShared ? fromPostgres(db, path) : fromSqlite(db, path))
    .select(columns.map((name) => `runs.${name}` as const))
    .where((is) => is.and([isListed, isKept, ...ofPage]))
}

type Source = SelectQueryBuilder<Tables, 'runs', object>

/** Postgres chooses an index by its statistics, but takes few runs to have a tool: without `limit 1` it would sort all that have. */
function fromPostgres(db: Kysely<Tables>, path: Path): Source {
  if (path !== 'tool') return db.selectFrom('runs')
  const run = sql<RunRow>`(select * from runs where ${isRunOfTool} limit 1)`.as<'runs'>('runs')
  return db.selectFrom('run_tools').crossJoinLateral(run as never)
}

/** SQLite has no statistics, and takes a time range for more selective than a caller. */
function fromSqlite(db: Kysely<Tables>, path: Path): Source {
  const index = sql`indexed by ${sql.id(indexes[path])}`
  if (path !== 'tool') return db.selectFrom(sql<RunRow>`runs`.as<'runs'>(sql`runs ${index}`))
  const tools = db.selectFrom(sql<RunToolRow>`run_tools`.as<'run_tools'>(sql`run_tools ${index}`))
  return tools.crossJoin('runs').where(isRunOfTool)
}

const isRunOfTool = sql<boolean>`(runs.tenant, runs.owner, runs.request_id) = (run_tools.tenant, run_tools.owner, run_tools.request_id)`

/** Tombstones that an earlier version has made during an upgrade still have a `sub`. */
const isKept = sql<boolean>`runs.status <> 'gone' and runs.unstored is null`
const isActive = sql<boolean>`runs.status in ('pending', 'running')`

/** The order of the list. Tools have the columns too, so that their index gives the order. */
function positionOf(path: Path) {
  const table = path === 'tool' ? 'run_tools' : 'runs'
  return [sql.ref(`${table}.created_at`), sql.ref(`${table}.request_id`), sql.ref(`${table}.owner`)]
}

function ofCaller({ tenant, owner }: Owner, { anyOwner, tool, sub }: RunPage, path: Path, isShared: boolean) {
  const table = sql.ref(path === 'tool' ? 'run_tools' : 'runs')
  // Without an index by tenant for a session and for active runs, which are few: their tenant may have a million runs.
  const ofTenant =
    path === 'session' || path === 'active' ? sql<boolean>`runs.tenant || '' = ${tenant}` : sql<boolean>`${table}.tenant = ${tenant}`
  const conditions = [ofTenant]
  const isOfTool = sql<boolean>`run_tools.tool = ${tool}`
  if (path === 'tool') conditions.push(isOfTool)
  // The offset makes Postgres look the tool up for each run of the page, instead of joining all runs of the tool.
  else if (tool !== undefined)
    conditions.push(sql<boolean>`exists (select 1 from run_tools where ${isRunOfTool} and ${isOfTool} ${isShared ? sql`offset 0` : sql``})`)
  if (!anyOwner) conditions.push(sql<boolean>`${table}.owner = ${owner}`)
  if (!anyOwner && path === 'sub') conditions.push(sql<boolean>`runs.sub = ${subOf({ owner })}`)
  if (sub !== undefined) conditions.push(sql<boolean>`${table}.sub = ${sub}`)
  return conditions
}

function filtersOf({ tenant, owner }: Owner, { sessionId, status, operation, version, toolErrors, anyOwner }: RunPage, path: Path) {
  const conditions: RawBuilder<boolean>[] = []
  if (sessionId !== undefined) {
    const own = anyOwner ? sql`` : sql`and owner = ${owner}`
    const sessions = sql`select key from sessions where tenant = ${tenant} and session_id = ${sessionId} ${own}`
    conditions.push(sql<boolean>`runs.session in (${sessions})`)
  }
  if (path === 'status') conditions.push(isUnsuccessful)
  if (path === 'active') conditions.push(isActive)
  if (status !== undefined) conditions.push(sql<boolean>`runs.status = ${sql.lit(status)}`)
  if (toolErrors !== undefined) conditions.push(toolErrors ? hasToolErrors : sql<boolean>`runs.tool_errors is null`)
  if (operation !== undefined) conditions.push(sql<boolean>`runs.operation = ${operation}`)
  if (version !== undefined)
    conditions.push(sql<boolean>`${path === 'tool' ? sql.ref('run_tools') : sql.ref('runs')}.config_version = ${version}`)
  return conditions
}

function boundsOf({ since, until, before }: RunPage, path: Path) {
  const position = positionOf(path)
  const conditions: RawBuilder<boolean>[] = []
  if (since !== undefined) conditions.push(sql<boolean>`${position[0]} >= ${since}`)
  // SQLite reads from one of two upper bounds, so only the lower one is given.
  if (until !== undefined && !(before && before.createdAt < until)) conditions.push(sql<boolean>`${position[0]} < ${until}`)
  if (before) conditions.push(sql<boolean>`(${sql.join(position)}) < (${before.createdAt}, ${before.requestId}, ${before.owner})`)
  return conditions
}

function toListedRun(tenant: string, row: Pick<RunRow, (typeof columns)[number]>): ListedRun {
  return {
    tenant,
    owner: row.owner,
    requestId: row.request_id,
    sessionId: row.session_id,
    operation: row.operation as Operation,
    status: row.status as RunStatus,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    input: row.input ?? undefined,
    tokens: row.total_tokens,
    cost: row.cost ?? undefined,
    toolErrors: row.tool_errors ?? 0,
    error: parseJson(row.error),
    configVersion: row.config_version ?? undefined,
    continues: row.continues ?? undefined,
  }
}
