import type { Logger } from 'pino'
import type { ConsoleStore } from '../access/console/console-store.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Jobs } from '../runs/jobs.ts'
import { prune, type ExpiredItems } from '../runs/retention/retention.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { createRetentionStore } from '../store/sessions/retention.ts'

interface RetentionOptions {
  agent: CurrentAgent
  database: Database
  consoleStore: Pick<ConsoleStore, 'removeExpired'>
  jobs: Jobs
  settings: Settings
  now(): number
  sleep(ms: number): Promise<void>
  log: Logger
}

const everyMs = 3_600_000
/** Delay of the first run: a start has more urgent work. */
const firstMs = 60_000
/** Time limit of one job; another process may continue afterwards. */
const limitMs = 60_000
const againMs = 1000
/** Codes and sessions of the console, removed in one transaction when they have expired. */
const consoleBatch = 500
const consolePauseMs = 50
/** Pause factor: pruning takes at most a fifth of the time. */
const restFactor = 4

/** Prunes old data in a single process at a time, through a permanent job. */
export async function keepPruned({ agent, database, jobs, settings, consoleStore, now, sleep, log }: RetentionOptions): Promise<void> {
  const store = createRetentionStore(database)
  const onRemoved = (things: ExpiredItems) => log.info(things, 'retention')
  jobs.handle('retention', 1, async (_job, signal) => {
    try {
      while (!signal.aborted && (await consoleStore.removeExpired(now(), consoleBatch)) > 0) await sleep(consolePauseMs)
      const { retention } = agent().config
      const isDone = await prune({ store, retention, now, sleep, restFactor, signal, limitMs, onRemoved })
      return { kind: 'again', at: now() + (isDone ? everyMs : againMs) }
    } catch (err) {
      log.error({ err }, 'retention')
      return { kind: 'again', at: now() + everyMs }
    }
  })
  await jobs.add([{ id: 'retention', kind: 'retention', tenant: settings.adminTenant, data: {}, dueAt: now() + firstMs }])
}
