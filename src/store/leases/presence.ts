import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../replicas/bus.ts'
import { query, type Database } from '../database.ts'
import { heartbeatMs, leaseMs } from './holder.ts'
import { aliveProcesses, clockOf } from './processes.ts'
import { sql } from 'kysely'

/** Detects other running processes of this service. */
export interface Presence {
  /**
   * Resolves to true when another process serves. Called at a start. The lease of a killed process outlives the process, so only an answer or a renewed
   * lease counts. Takes some milliseconds when another process answers or no lease exists, else as long as a renewal may take.
   */
  hasOthers(): Promise<boolean>
  /** Answers starting processes from now on. Returns a function to stop. */
  answer(): () => void
}

const pollMs = 100
const waitMs = heartbeatMs + 1000

export function createPresence(database: Database, { id, bus }: { id: string; bus: Bus }): Presence {
  /** Ends of the leases of other processes, in epoch milliseconds of the database, by process id. */
  async function leases(): Promise<Map<string, number>> {
    const alive = aliveProcesses(database).select('alive_until').where('id', '<>', id)
    const { rows } = await query(database.all.read, alive)
    return new Map(rows.map((row) => [row.id, row.alive_until]))
  }

  async function hasOthers(): Promise<boolean> {
    let isAnswered = false
    /** Other starting processes renew leases too, and do not count, or two starting processes would wait for each other. */
    const starting = new Set<string>()
    const stops = [
      bus.subscribe('serving', () => void (isAnswered = true)),
      bus.subscribe('starting', ({ process }) => starting.add(process)),
    ]
    try {
      const before = await leases()
      const isRenewed = ([processId, until]: [string, number]) =>
        !starting.has(processId) && until > (before.get(processId) ?? Number.POSITIVE_INFINITY)
      const endsAt = performance.now() + waitMs
      for (let now = before; now.size > 0 && performance.now() < endsAt; now = await leases()) {
        if (isAnswered || [...now].some(isRenewed)) return true
        bus.publish('starting', { process: id })
        await sleep(pollMs)
      }
      return isAnswered
    } finally {
      for (const stop of stops) stop()
    }
  }

  return { hasOthers, answer: () => bus.subscribe('starting', () => bus.publish('serving', { process: id })) }
}

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
  /** Runs that the process executes, or that wait for a takeover from the process. */
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
