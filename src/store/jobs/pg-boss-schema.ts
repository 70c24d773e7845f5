import type pg from 'pg'
import { PgBoss, type Queue } from 'pg-boss'
import { jobKinds } from '../../runs/jobs.ts'

/** Where pg-boss keeps jobs: names of runs and sessions, no content. Its tables have no tenants, and no row-level security. */
export const bossSchema = 'agent_core_jobs'

/** A queue of those that have failed for too long, or ended too many processes: nobody does them, operators see them. */
export const givenUp = 'given_up'

/** What has not been heard of for so long is done by another process; the least that pg-boss takes. */
export const heartbeatSeconds = 10

/** 60 years: what was promised is not forgotten. */
const forEverSeconds = 2_000_000_000

const ofKind = {
  // An id is taken as long as its job waits or is at work.
  policy: 'exclusive',
  heartbeatSeconds,
  expireInSeconds: 24 * 3600,
  retentionSeconds: forEverSeconds,
  deleteAfterSeconds: 3600,
  // Processes that died with it; what throws is put back by our own worker.
  retryLimit: 1000,
  retryDelay: 0,
  deadLetter: givenUp,
} as const satisfies Omit<Queue, 'name'>

const queues = new Map<string, Omit<Queue, 'name'>>([
  [givenUp, { retentionSeconds: 14 * 24 * 3600 }],
  ...jobKinds.map((kind): [string, Omit<Queue, 'name'>] => [kind, ofKind]),
])

/** Makes the tables and queues that are missing, as the login user; of several processes one after another. */
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

/** It does nothing by itself. */
export const passive = { supervise: false, schedule: false, createSchema: false, reindex: false, monitorVacuum: false } as const

async function makeSchema(client: pg.Client): Promise<void> {
  const { rows } = await client.query('select from pg_namespace where nspname = $1', [bossSchema])
  if (rows.length > 0) return
  await client.query(`create schema ${bossSchema}`).catch((cause: unknown) => {
    const remedy = `let its owner run: create schema ${bossSchema} authorization ${client.escapeIdentifier(client.user ?? 'the user')}`
    throw new Error(`The database's user may not make the schema ${bossSchema}, where jobs are kept: ${remedy}`, { cause })
  })
}
