import { randomUUID } from 'node:crypto'
import type { JobKind } from '../src/runs/jobs.ts'
import type { Database } from '../src/store/database.ts'

/** A kind of jobs that no other test has, and the time that passes for its jobs. */
export interface JobClock {
  kind: JobKind
  now(): number
  pass(ms: number): Promise<void>
  /** Milliseconds from the moment at which a waiting job was added, or put back, until it is due. */
  delays(): Promise<number[]>
  /** Makes jobs of processes that died anybody's. */
  keepUp(): Promise<void>
}

const start = 1_000_000

export async function startJobClock(database: Database): Promise<JobClock> {
  const kind = randomUUID() as JobKind
  let time = start
  const now = () => time
  const keepUp = async () => database.jobs.keepUp?.()
  const { all } = database
  if (!database.isShared) {
    const ask = 'select due_at from jobs where kind = ?'
    const delays = async () => (await all.read.execute<{ due_at: number }>(ask, [kind])).rows.map(({ due_at }) => due_at - time)
    return { kind, now, delays, keepUp, pass: async (ms) => void (time += ms) }
  }
  const columns =
    'policy, retry_limit, retry_delay, retry_backoff, expire_seconds, retention_seconds, deletion_seconds, dead_letter, partition'
  const others = `${columns}, table_name, heartbeat_seconds`
  await all.write.execute(
    `insert into agent_core_jobs.queue (name, ${others}) select $1, ${others} from agent_core_jobs.queue where name = 'callback'`,
    [kind],
  )
  return {
    kind,
    now,
    keepUp,
    async pass(ms) {
      time += ms
      const by = `$1 * interval '1 ms'`
      await all.write.execute(
        `update agent_core_jobs.job set start_after = start_after - ${by}, heartbeat_on = heartbeat_on - ${by} where name = $2`,
        [ms, kind],
      )
    },
    async delays() {
      const ask = `select extract(epoch from start_after - created_on) * 1000 as delay from agent_core_jobs.job
        where name = $1 and state < 'active'`
      return (await all.read.execute<{ delay: string }>(ask, [kind])).rows.map(({ delay }) => Math.round(Number(delay)))
    },
  }
}
