import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../replicas/bus.ts'
import { query, type Database } from '../database.ts'
import { isConnected } from '../postgres/bus.ts'
import { attemptMs, heartbeatMs, leaseMs } from './holder.ts'
import { clockOf } from './processes.ts'
import { sql } from 'kysely'

/** Detects other running processes of this service. */
export interface Presence {
  /**
   * Resolves to true when another process serves. Called at a start. Another process that answers or renews its lease serves, and one that does
   * neither within `waitMs` is stalled while it is connected. A killed process is not connected, and has stopped once its lease has ended: until
   * then a process without a connection may connect again.
   */
  hasOthers(): Promise<boolean>
  /** Answers starting processes from now on. Returns a function to stop. */
  answer(): () => void
}

const pollMs = 100
/** As long as a living process takes to renew its lease after the database was away. */
const waitMs = heartbeatMs + attemptMs

export function createPresence(database: Database, { id, bus }: { id: string; bus: Bus }): Presence {
  const { db, all } = database
  const hasLease = sql<boolean>`alive_until > ${clockOf(database)}`
  const others = db.selectFrom('processes').select(['id', 'alive_until', hasLease.as('hasLease'), isConnected.as('isConnected')])

  async function hasOthers(): Promise<boolean> {
    let isAnswered = false
    /** Other starting processes renew leases too, and do not count, or two starting processes would wait for each other. */
    const starting = new Set([id])
    const stops = [
      bus.subscribe('serving', () => void (isAnswered = true)),
      bus.subscribe('starting', ({ process }) => starting.add(process)),
    ]
    const read = async () => (await query(all.read, others)).rows.filter((other) => !starting.has(other.id))
    try {
      const first = await read()
      const leases = new Map(first.map((other) => [other.id, other.alive_until]))
      const endsAt = performance.now() + waitMs
      for (let now = first; now.length > 0; now = await read()) {
        if (isAnswered || now.some((other) => other.alive_until > (leases.get(other.id) ?? Infinity))) return true
        if (performance.now() >= endsAt) {
          if (now.some((other) => other.isConnected)) return true
          if (!now.some((other) => other.hasLease)) return false
        }
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
