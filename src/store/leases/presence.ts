import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../replicas/bus.ts'
import { query, type Database } from '../database.ts'
import { heartbeatMs } from './holder.ts'
import { aliveProcesses } from './processes.ts'

/** Whether other processes of this service are there. */
export interface Presence {
  /**
   * At a start. The lease of a process that was killed lasts on for a while: one that lives answers at once, or renews its own. Takes some
   * milliseconds where another serves or nobody has a lease, and else as long as a renewal may take.
   */
  hasOthers(): Promise<boolean>
  /** From now on this process answers those that start. The returned function ends it. */
  answer(): () => void
}

const lookEveryMs = 100
const waitMs = heartbeatMs + 1000

export function createPresence(database: Database, { id, bus }: { id: string; bus: Bus }): Presence {
  /** Until when each other process is believed to be alive. */
  async function leases(): Promise<Map<string, number>> {
    const alive = aliveProcesses(database).select('alive_until').where('id', '<>', id)
    const { rows } = await query(database.all.read, alive)
    return new Map(rows.map((row) => [row.id, row.alive_until]))
  }

  async function hasOthers(): Promise<boolean> {
    let isAnswered = false
    /** They wait as this one does, perhaps for each other. */
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
        await sleep(lookEveryMs)
      }
      return isAnswered
    } finally {
      for (const stop of stops) stop()
    }
  }

  return { hasOthers, answer: () => bus.subscribe('starting', () => bus.publish('serving', { process: id })) }
}
