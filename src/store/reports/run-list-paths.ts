import { sql, type RawBuilder } from 'kysely'
import { subOf, type Owner } from '../../access/owner.ts'
import type { RunPage } from '../../runs/run-list.ts'
import { query, type Database } from '../database.ts'

/** A filter of a page, whose index gives the order. */
export type Path = 'session' | 'active' | 'status' | 'tool_errors' | 'version' | 'tool' | 'sub' | 'time'

/** The filters of a page that have an index, from the one that usually selects fewest runs. */
function pathsOf({ tool, sessionId, status, operation, anyOwner, sub, version, toolErrors }: RunPage): [Path, ...Path[]] {
  if (sessionId !== undefined) return ['session']
  if (status === 'pending' || status === 'running') return ['active']
  const paths: Path[] = []
  if (status !== undefined && status !== 'success') paths.push('status')
  if (toolErrors === true) paths.push('tool_errors')
  if (version !== undefined) paths.push('version')
  if (tool !== undefined) paths.push('tool')
  if (!anyOwner || sub !== undefined) paths.push('sub')
  if (operation !== undefined) paths.push('time')
  return [paths[0] ?? 'time', ...paths.slice(1)]
}

/** The first filter that selects at most `fewRuns` runs, whatever the others select; the first of all where none does. */
export async function choosePath(database: Database, caller: Owner, page: RunPage, fewRuns: number): Promise<Path> {
  const paths = pathsOf(page)
  if (paths.length === 1) return paths[0]
  for (const path of paths) {
    const { rows } = await query(database.forTenant(caller.tenant).read, entryBeyond(fewRuns, database, caller, { page, path }))
    if (rows.length === 0) return path
  }
  return paths[0]
}

/** Selects a row if the filter of the path selects more than `count` runs. Reads entries of the index alone. */
function entryBeyond(count: number, { db, isShared }: Database, { tenant, owner }: Owner, { page, path }: { page: RunPage; path: Path }) {
  const table = path === 'tool' ? 'run_tools' : 'runs'
  const source = isShared ? sql.table(table) : sql`${sql.table(table)} indexed by ${sql.id(indexes[path])}`
  const conditions: Partial<Record<Path, RawBuilder<unknown>>> = {
    status: sql`${isUnsuccessful} and status = ${sql.lit(page.status)}`,
    tool_errors: hasToolErrors,
    version: sql`${isListed} and config_version = ${page.version}`,
    tool: sql`tool = ${page.tool}`,
    sub: sql`${isListed} and sub = ${page.anyOwner ? page.sub : subOf({ owner })}`,
    time: sql`${isListed} and operation = ${page.operation}`,
  }
  const entry = sql`select 1 from ${source} where tenant = ${tenant} and ${conditions[path]} limit 1 offset ${sql.lit(count)}`
  return { compile: () => entry.compile(db) }
}

export const indexes: Record<Path, string> = {
  session: 'runs_of_session',
  // Few runs are active at a time, so a sort of all of them is cheaper than an index that each chat enters and leaves.
  active: 'runs_active',
  status: 'runs_listed_by_status',
  tool_errors: 'runs_with_tool_errors',
  tool: 'run_tools_listed',
  sub: 'runs_listed_by_sub',
  version: 'runs_listed_by_version',
  time: 'runs_listed',
}

/** The words of the partial indexes: only with these words are the indexes used. */
export const isListed = sql<boolean>`runs.sub is not null`
export const hasToolErrors = sql<boolean>`runs.sub is not null and runs.tool_errors is not null`
export const isUnsuccessful = sql<boolean>`runs.sub is not null and runs.status not in ('success', 'gone', 'pending', 'running')`
