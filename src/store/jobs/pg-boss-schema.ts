import type pg from 'pg'
import { PgBoss, type Queue } from 'pg-boss'
import { jobKinds } from '../../runs/jobs.ts'

/** The schema of pg-boss. Its jobs hold ids of runs and sessions, no content; its tables have no tenants and no row-level security. */
export const bossSchema = 'agent_core_jobs'

/** The dead-letter queue: jobs that failed for too long or ended too many processes. No worker claims such jobs; operators inspect the queue. */
export const deadLetterQueue = 'given_up'

/** Lease in seconds: a job without a heartbeat for this time goes to another process. 10 is the minimum of pg-boss. */
export const heartbeatSeconds = 10

/** 60 years, so that no accepted job is dropped. */
const foreverSeconds = 2_000_000_000

const queueOptions = {
  // An id is unique among waiting and active jobs.
  policy: 'exclusive',
  heartbeatSeconds,
  expireInSeconds: 24 * 3600,
  retentionSeconds: foreverSeconds,
  deleteAfterSeconds: 3600,
  // Retries after the death of a process. `createJobWorker` requeues jobs that throw.
  retryLimit: 1000,
  retryDelay: 0,
  deadLetter: deadLetterQueue,
} as const satisfies Omit<Queue, 'name'>

const queues = new Map<string, Omit<Queue, 'name'>>([
  [deadLetterQueue, { retentionSeconds: 14 * 24 * 3600 }],
  ...jobKinds.map((kind): [string, Omit<Queue, 'name'>] => [kind, queueOptions]),
])

/** Creates missing tables and queues as the login user. Callers serialize concurrent processes. */
export async function prepareBoss(client: pg.Client): Promise<void> {
  await makeSchema(client)
  const boss = new PgBoss({ db: { executeSql: (text, values) => client.query(text, values) }, schema: bossSchema, ...passive })
  boss.on('error', () => undefined)
  try {
    await boss.start()
    const existing = new Set((await boss.getQueues()).map(({ name }) => name))
    for (const [name, options] of queues) if (!existing.has(name)) await boss.createQueue(name, options)
  } finally {
    await boss.stop({ graceful: false, close: false })
  }
}

/** Options that turn off all background work of pg-boss. */
export const passive = { supervise: false, schedule: false, createSchema: false, reindex: false, monitorVacuum: false } as const

async function makeSchema(client: pg.Client): Promise<void> {
  const { rows } = await client.query('select from pg_namespace where nspname = $1', [bossSchema])
  if (rows.length > 0) return
  await client.query(`create schema ${bossSchema}`).catch((cause: unknown) => {
    const remedy = `let its owner run: create schema ${bossSchema} authorization ${client.escapeIdentifier(client.user ?? 'the user')}`
    throw new Error(`The database user cannot create the schema ${bossSchema}, which holds the jobs: ${remedy}`, { cause })
  })
}
