import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import { subOf, type Owner } from '../../access/owner.ts'
import type { ListedRun, RunListStore, RunPage } from '../../runs/list/run-list-store.ts'
import type { Operation, RunStatus } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { parseJson } from '../rows.ts'
import type { RunRow, RunToolRow, Tables } from '../tables.ts'

/** `RunListStore` on either database. */
export function createRunListStore(database: Database): RunListStore {
  return {
    async list(caller, page) {
      const { rows } = await query(database.forTenant(caller.tenant).read, pageOf(database, caller, page))
      return rows.map((row) => toListedRun(caller.tenant, row))
    },
  }
}

const columns = [
  'runs.owner',
  'runs.request_id',
  'runs.session_id',
  'runs.operation',
  'runs.status',
  'runs.created_at',
  'runs.started_at',
  'runs.ended_at',
  'runs.input',
  'runs.total_tokens',
  'runs.cost',
  'runs.error',
  'runs.config_version',
] as const

type ListedRow = Pick<
  RunRow,
  | 'owner'
  | 'request_id'
  | 'session_id'
  | 'operation'
  | 'status'
  | 'created_at'
  | 'started_at'
  | 'ended_at'
  | 'input'
  | 'total_tokens'
  | 'cost'
  | 'error'
  | 'config_version'
>

/** The filter of a page whose index gives the order: the first in this list. */
type Path = 'session' | 'active' | 'status' | 'tool' | 'sub' | 'version' | 'time'

function pathOf({ tool, sessionId, status, anyOwner, sub, version }: RunPage): Path {
  if (sessionId !== undefined) return 'session'
  if (status === 'pending' || status === 'running') return 'active'
  if (status !== undefined && status !== 'success') return 'status'
  if (tool !== undefined) return 'tool'
  if (!anyOwner || sub !== undefined) return 'sub'
  return version === undefined ? 'time' : 'version'
}

const indexes: Record<Path, string> = {
  session: 'runs_of_session',
  // Few runs are active at a time, so a sort of all of them is cheaper than an index that each chat enters and leaves.
  active: 'runs_active',
  status: 'runs_listed_by_status',
  tool: 'run_tools_listed',
  sub: 'runs_listed_by_sub',
  version: 'runs_listed_by_version',
  time: 'runs_listed',
}

function pageOf(database: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage) {
  const path = pathOf(page)
  if (page.operation !== undefined || (path !== 'version' && path !== 'time')) {
    const position = positionOf(path).map((column) => sql`${column} desc`)
    return runsOf(database, caller, page, path).orderBy(sql.join(position)).limit(page.limit)
  }
  const [first, ...others] = listedOperations.map((operation) => runsOf(database, caller, { ...page, operation }, path))
  return others
    .reduce((merged, runs) => merged.unionAll(runs), first!)
    .orderBy(sql`created_at desc, request_id desc, owner desc`)
    .limit(page.limit)
}

/** The indexes of the paths `version` and `time` have the operation before the order: a list of all operations merges these. */
const listedOperations: readonly Operation[] = ['chain', 'chain_streaming', 'chain_async']

function runsOf({ db, isShared }: Pick<Database, 'db' | 'isShared'>, caller: Owner, page: RunPage, path: Path) {
  const conditions = [isListed, isKept, ...ofCaller(caller, page, path), ...filtersOf(caller, page, path), ...boundsOf(page, path)]
  return (isShared ? fromPostgres(db, path) : fromSqlite(db, path)).select(columns).where((is) => is.and(conditions))
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

/** The words of the partial indexes: only with these words are the indexes used. */
const isListed = sql<boolean>`runs.sub is not null`
/** Tombstones that an earlier version has made during an upgrade still have a `sub`. */
const isKept = sql<boolean>`runs.status <> 'gone' and runs.unstored is null`
const isUnsuccessful = sql<boolean>`runs.sub is not null and runs.status not in ('success', 'gone', 'pending', 'running')`
const isActive = sql<boolean>`runs.status in ('pending', 'running')`

/** The order of the list. Tools have the columns too, so that their index gives the order. */
function positionOf(path: Path) {
  const table = path === 'tool' ? 'run_tools' : 'runs'
  return [sql.ref(`${table}.created_at`), sql.ref(`${table}.request_id`), sql.ref(`${table}.owner`)]
}

function ofCaller({ tenant, owner }: Owner, { anyOwner, tool, sub }: RunPage, path: Path) {
  const table = sql.ref(path === 'tool' ? 'run_tools' : 'runs')
  // Without an index by tenant for a session and for active runs, which are few: their tenant may have a million runs.
  const ofTenant =
    path === 'session' || path === 'active' ? sql<boolean>`runs.tenant || '' = ${tenant}` : sql<boolean>`${table}.tenant = ${tenant}`
  const conditions = [ofTenant]
  const isOfTool = sql<boolean>`run_tools.tool = ${tool}`
  if (path === 'tool') conditions.push(isOfTool)
  else if (tool !== undefined) conditions.push(sql<boolean>`exists (select 1 from run_tools where ${isRunOfTool} and ${isOfTool})`)
  if (!anyOwner) conditions.push(sql<boolean>`${table}.owner = ${owner}`)
  if (!anyOwner && path === 'sub') conditions.push(sql<boolean>`runs.sub = ${subOf({ tenant, owner })}`)
  if (sub !== undefined) conditions.push(sql<boolean>`${table}.sub = ${sub}`)
  return conditions
}

function filtersOf({ tenant, owner }: Owner, { sessionId, status, operation, version, anyOwner }: RunPage, path: Path) {
  const conditions: RawBuilder<boolean>[] = []
  if (sessionId !== undefined) {
    const own = anyOwner ? sql`` : sql`and owner = ${owner}`
    const sessions = sql`select key from sessions where tenant = ${tenant} and session_id = ${sessionId} ${own}`
    conditions.push(sql<boolean>`runs.session in (${sessions})`)
  }
  if (path === 'status') conditions.push(isUnsuccessful)
  if (path === 'active') conditions.push(isActive)
  if (status !== undefined) conditions.push(sql<boolean>`runs.status = ${sql.lit(status)}`)
  if (operation !== undefined) conditions.push(sql<boolean>`runs.operation = ${operation}`)
  if (version !== undefined)
    conditions.push(sql<boolean>`${path === 'tool' ? sql.ref('run_tools') : sql.ref('runs')}.config_version = ${version}`)
  return conditions
}

function boundsOf({ since, until, before }: RunPage, path: Path) {
  const position = positionOf(path)
  const conditions: RawBuilder<boolean>[] = []
  if (since !== undefined) conditions.push(sql<boolean>`${position[0]} >= ${since}`)
  if (until !== undefined) conditions.push(sql<boolean>`${position[0]} < ${until}`)
  if (before) conditions.push(sql<boolean>`(${sql.join(position)}) < (${before.createdAt}, ${before.requestId}, ${before.owner})`)
  return conditions
}

function toListedRun(tenant: string, row: ListedRow): ListedRun {
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
    error: parseJson(row.error),
    configVersion: row.config_version ?? undefined,
  }
}
