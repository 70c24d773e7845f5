import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../replicas/bus.ts'
import { query, type Database } from '../database.ts'
import { heartbeatMs } from './holder.ts'
import { aliveProcesses } from './processes.ts'

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
