import { sql } from 'kysely'
import { query, type Database } from '../database.ts'
import { leaseMs } from './holder.ts'
import { clockOf } from './processes.ts'

/** A process of the service, as its lease describes it. Times are epoch milliseconds. */
export interface Replica {
  /** The holder of its runs. */
  id: string
  /** Undefined, like the next two, for a process of a former version. */
  host: string | undefined
  version: string | undefined
  startedAt: number | undefined
  /** The last renewal of the lease. */
  lastSeenAt: number
  isAlive: boolean
  /** Runs that the process executes, or that wait to be taken over from it. */
  runs: number
}

/** The processes that share the database, oldest first. A process without a stop of its own is listed for a day. Empty on SQLite. */
export async function listReplicas(database: Database): Promise<Replica[]> {
  const { db, all } = database
  const alive = sql<number>`case when alive_until > ${clockOf(database)} then 1 else 0 end`
  const rows = db
    .selectFrom('processes')
    .select(['id', 'host', 'version', 'started_at', 'alive_until', alive.as('is_alive')])
    .orderBy('id')
  const [processes, counts] = await Promise.all([query(all.read, rows), countHeldRuns(database)])
  return processes.rows.map(({ id, host, version, started_at, alive_until, is_alive }) => ({
    id,
    host: host ?? undefined,
    version: version ?? undefined,
    startedAt: started_at ?? undefined,
    lastSeenAt: alive_until - leaseMs,
    isAlive: is_alive === 1,
    runs: counts.get(id) ?? 0,
  }))
}

/** Active runs by holder. */
export async function countHeldRuns({ db, all }: Database): Promise<Map<string, number>> {
  const active = db
    .selectFrom('runs')
    .select(({ fn }) => ['holder', fn.countAll<number>().as('count')])
    // The condition of the index `runs_active`, word for word.
    .where(sql<boolean>`status in ('pending', 'running')`)
    .groupBy('holder')
  return new Map((await query(all.read, active)).rows.map(({ holder, count }) => [holder, count]))
}
