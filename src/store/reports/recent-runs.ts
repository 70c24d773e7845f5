import { sql, type RawBuilder } from 'kysely'
import { subOf, type Owner } from '../../access/owner.ts'
import { maxCounted, type RecentFilters, type RecentPosition, type RecentRunStore } from '../../runs/run-list.ts'
import type { StoredRun } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import { toStoredRun } from '../rows.ts'
import { isInPairs } from '../sessions/remove-session.ts'
import { whereChat } from '../runs/statements.ts'

/** `RecentRunStore` on either database. The runs of a caller with fewer than `fewRuns` are read as a whole and sorted. */
export function createRecentRunStore({ db, forTenant, isShared }: Database, fewRuns = 1000): RecentRunStore {
  /** SQLite has no statistics, so the index is named. */
  const indexed = (index: string) => (isShared ? sql`runs` : sql`runs indexed by ${sql.id(index)}`)

  async function rowsOf<R>(tenant: string, statement: RawBuilder<R>): Promise<R[]> {
    const { sql: text, parameters } = statement.compile(db)
    return (await forTenant(tenant).read.execute<R>(text, parameters)).rows
  }

  async function hasFewRuns(caller: Owner): Promise<boolean> {
    const own = sql`select 1 from ${indexed('runs_listed_by_sub')} where ${listedOf(caller)} limit ${fewRuns}`
    const [row] = await rowsOf(caller.tenant, sql<{ count: number }>`select count(*) as count from (${own}) as own`)
    return row!.count < fewRuns
  }

  /** Keys of matching runs, last changed first. */
  async function recentOf(caller: Owner, filters: RecentFilters, slice: Slice): Promise<RawBuilder<RecentPosition>> {
    const { statuses, sessionId, changedSince } = filters
    const isWanted = toCondition(statuses)
    const isWhole = sessionId !== undefined || (await hasFewRuns(caller))
    const source = isWhole ? wholeList(caller, sessionId, isWanted) : longList(caller, { isWanted, changedSince, slice })
    const since = changedSince === undefined ? sql`` : sql`and changed_at >= ${changedSince}`
    const { before } = slice
    const older = before ? sql`and (changed_at, request_id) < (${before.changedAt}, ${before.requestId})` : sql``
    return sql<RecentPosition>`select changed_at as "changedAt", request_id as "requestId" from (${source}) as recent
      where 1 = 1 ${since} ${older} order by changed_at desc, request_id desc limit ${slice.limit}`
  }

  function wholeList(caller: Owner, sessionId: string | undefined, isWanted: RawBuilder<boolean>) {
    if (sessionId === undefined)
      return sql`select ${position} from ${indexed('runs_listed_by_sub')} where ${listedOf(caller)} and ${isWanted}`
    const sessions = sql`select key from sessions where tenant = ${caller.tenant} and owner = ${caller.owner} and session_id = ${sessionId}`
    return sql`select ${position} from ${indexed('runs_of_session')}
      where session in (${sessions}) and ${ownWithoutIndex(caller)} and ${isWanted}`
  }

  /** Unended runs, which are few, and as many ended runs as the page can hold. */
  function longList(caller: Owner, { isWanted, changedSince, slice: { before, limit } }: LongList) {
    const since = changedSince === undefined ? sql`` : sql`and ended_at >= ${changedSince}`
    const older = before ? sql`and (ended_at, request_id) <= (${before.changedAt}, ${before.requestId})` : sql``
    const active = sql`select ${position} from ${indexed('runs_active')}
      where status in ('pending', 'running') and ${ownWithoutIndex(caller)} and ${isWanted}`
    const waiting = sql`select ${position} from ${indexed('runs_listed_by_status')}
      where sub is not null and status not in ('success', 'gone', 'pending', 'running')
        and status = 'interrupted' and tenant = ${caller.tenant} and owner = ${caller.owner} and ${isWanted}`
    // One more than the page: the last run of the page before is among them.
    const ended = sql`select ended_at as changed_at, request_id from ${indexed('runs_ended')}
      where ended_at is not null and tenant = ${caller.tenant} and owner = ${caller.owner} and ${isKeptChat}
        and status not in ('pending', 'running', 'interrupted') and ${isWanted} ${since} ${older}
      order by ended_at desc, request_id desc limit ${limit + 1}`
    return sql`${active} union all ${waiting} union all select * from (${ended}) as ended`
  }

  async function runsOf({ tenant, owner }: Owner, positions: readonly RecentPosition[]): Promise<Map<string, StoredRun>> {
    const pairs = positions.map(({ requestId }) => ({ owner, request_id: requestId }))
    const runs = db
      .selectFrom('runs')
      .selectAll()
      .where('tenant', '=', tenant)
      .where(isInPairs(['request_id', 'owner'], pairs))
    const { rows } = await query(forTenant(tenant).read, runs.where('status', '!=', 'gone').where(whereChat))
    return new Map(rows.map((row) => [row.request_id, toStoredRun(row)]))
  }

  return {
    async list(caller, { limit, before, ...filters }) {
      const positions = await rowsOf(caller.tenant, await recentOf(caller, filters, { limit, before }))
      const runs = positions.length === 0 ? new Map<string, StoredRun>() : await runsOf(caller, positions)
      return positions.flatMap((recent) => {
        const run = runs.get(recent.requestId)
        return run ? [{ ...recent, run }] : []
      })
    },

    async count(caller, filters) {
      const recent = await recentOf(caller, filters, { limit: maxCounted, before: undefined })
      const [row] = await rowsOf(caller.tenant, sql<{ count: number }>`select count(*) as count from (${recent}) as matching`)
      return row!.count
    },
  }
}

interface Slice {
  limit: number
  before: RecentPosition | undefined
}

interface LongList {
  isWanted: RawBuilder<boolean>
  changedSince: number | undefined
  slice: Slice
}

const isKeptChat = sql`operation <> 'tool_execute' and status <> 'gone'`

/** The words of the partial index of listed runs. */
function listedOf({ tenant, owner }: Owner): RawBuilder<unknown> {
  return sql`tenant = ${tenant} and sub = ${subOf({ owner })} and sub is not null and owner = ${owner} and status <> 'gone'`
}

/** Runs of the caller, where another condition has the index. */
function ownWithoutIndex({ tenant, owner }: Owner): RawBuilder<unknown> {
  return sql`tenant || '' = ${tenant} and owner = ${owner} and ${isKeptChat}`
}

/** The time of the last change. A run waits since its newest undecided call was requested. */
const position = sql`case
    when status = 'pending' then created_at
    when status = 'running' then coalesce(started_at, created_at)
    when status = 'interrupted' then coalesce((select max(requested_at) from approvals
      where approvals.tenant = runs.tenant and approvals.owner = runs.owner and approvals.request_id = runs.request_id), started_at, created_at)
    else coalesce(ended_at, started_at, created_at)
  end as changed_at, request_id`

function toCondition(statuses: RecentFilters['statuses']): RawBuilder<boolean> {
  if (statuses === undefined) return sql<boolean>`unstored is null`
  return statuses.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`unstored is null and status in (${sql.join(statuses)})`
}
