import type { Logger } from 'pino'
import type { Database } from './database.ts'
import { createRunStore } from './runs.ts'

/** How often a process says that it is alive, and how long that is believed. */
const beatMs = 3000
const aliveMs = 10_000
/** How often a process that is alone looks for runs that a fault made it forget. */
const lookEveryMs = 15_000

/** This process, as the one that runs belong to. */
export interface Holder {
  readonly id: string
  /** Calls `adopt` now, and again while other processes may die. */
  onLost(adopt: () => Promise<void>): void
  close(): Promise<void>
}

interface Options {
  id: string
  /** Epoch milliseconds. */
  now(): number
  log: Logger
}

/** On Postgres a heartbeat tells the others that this process is there; an embedded database has no others. */
export async function keepHolder(database: Database, { id, now, log }: Options): Promise<Holder> {
  const { heartbeat } = createRunStore(database)
  const timers: NodeJS.Timeout[] = []
  const every = (ms: number, what: () => Promise<void>) => {
    const timer = setInterval(() => void what().catch((err: unknown) => log.error({ err }, 'holder')), ms)
    timers.push(timer.unref())
  }
  if (database.isShared) {
    const beat = () => heartbeat(id, now() + aliveMs)
    await beat()
    every(beatMs, beat)
  }
  return {
    id,
    onLost(adopt) {
      void adopt().catch((err: unknown) => log.error({ err }, 'adopt'))
      every(database.isShared ? beatMs : lookEveryMs, adopt)
    },
    async close() {
      for (const timer of timers) clearInterval(timer)
      // What this process leaves can be adopted at once.
      if (database.isShared) await heartbeat(id, 0)
    },
  }
}
