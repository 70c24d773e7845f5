import { randomUUID, randomUUIDv7 } from 'node:crypto'
import type { JobData, NewJob } from '../../src/runs/jobs.ts'
import type { ToolUse } from '../../src/runs/reports/series.ts'
import type { EndedRun, HeldRun, NewMessage, NewRun, RunStore, Turn } from '../../src/runs/run-store.ts'
import type { Selectable } from 'kysely'
import type { Database } from '../../src/store/database.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import type { Tables } from '../../src/store/tables.ts'

/** What the store tests speak about: a tenant of their own, a run of it, its end. */

export const hour = 3_600_000 * 480_000

export function human(content: string, createdAt = hour): NewMessage {
  return { role: 'human', content, createdAt }
}

export function ai(content: string, createdAt = hour): NewMessage {
  return { role: 'ai', content, createdAt, data: { model: 'm', finishReason: 'stop' } }
}

let lastPlace = 0

export function newRun(change: Partial<NewRun> = {}): NewRun & HeldRun {
  lastPlace += 1
  const messages = change.messages ?? [human('hello')]
  return {
    tenant: 't',
    owner: 'agent-core ann',
    requestId: randomUUID(),
    sessionId: 's',
    sessionKey: randomUUID(),
    shortName: 'hello',
    operation: 'chain',
    bodyHash: 'hash',
    request: { messages: messages.map(({ content }) => ({ role: 'user', content })), filters: [], headers: {} },
    onDisconnect: 'cancel',
    holder: 'process-1',
    queueOrder: lastPlace,
    agent: 'agent',
    configVersion: '1',
    input: 'hello',
    now: hour,
    fence: 1,
    ...change,
    messages,
  }
}

export function endOf(turn: Turn, change: Partial<EndedRun> = {}): EndedRun {
  const message = 'message' in change ? change.message : ai('answer')
  return {
    session: turn.session,
    status: 'success',
    finishReason: 'stop',
    continuable: false,
    request: { messages: [{ role: 'user', content: 'hello' }], filters: [], headers: {} },
    model: 'm',
    promptTokens: 10,
    completionTokens: 5,
    latencyMs: 100,
    endedAt: hour + 100,
    error: undefined,
    log: { input: 'hello', events: [] },
    messageCount: turn.messageCount + (message ? 1 : 0),
    checkpointId: randomUUID(),
    dropsResultImages: false,
    hadCheckpoints: false,
    jobs: [],
    configVersion: '1',
    cost: undefined,
    tools: [],
    ...change,
    message,
  }
}

/** One call of each tool. */
export function usesOf(...tools: string[]): ToolUse[] {
  return tools.map((tool) => ({ tool, calls: 1, errors: 0, durationsMs: [5] }))
}

export function jobOf(change: Partial<NewJob> = {}): NewJob {
  return {
    id: randomUUIDv7(),
    kind: 'callback',
    tenant: 't',
    data: { owner: 'agent-core ann', requestId: 'r', round: 0 },
    dueAt: 0,
    ...change,
  }
}

/** Jobs of a tenant that are not done, those of runs apart. */
export async function idsOf(database: Database, tenant: string): Promise<string[]> {
  return (await jobsOf(database, tenant)).filter(({ kind }) => kind !== 'run').map(({ id }) => id)
}

/** The jobs with which async runs of a tenant go on. */
export async function runJobsOf(database: Database, tenant: string): Promise<JobData['run'][]> {
  return (await jobsOf(database, tenant)).filter(({ kind }) => kind === 'run').map(({ data }) => JSON.parse(data) as JobData['run'])
}

export async function dropRunJobs({ all, isShared }: Database, tenant: string): Promise<void> {
  const drop = isShared
    ? `delete from agent_core_jobs.job where data ->> 'tenant' = $1 and name = 'run'`
    : `delete from jobs where tenant = ? and kind = 'run'`
  await all.unit((connection) => connection.execute(drop, [tenant]))
}

interface KeptJob {
  id: string
  kind: string
  /** JSON. */
  data: string
}

export async function jobsOf({ all, isShared }: Database, tenant: string): Promise<KeptJob[]> {
  const ask = isShared
    ? `select singleton_key as id, name as kind, (data -> 'data')::text as data from agent_core_jobs.job
        where data ->> 'tenant' = $1 and name <> 'given_up' and state <= 'active' order by singleton_key`
    : 'select id, kind, data from jobs where tenant = ? order by id'
  return (await all.read.execute<KeptJob>(ask, [tenant])).rows
}

export const failed = { status: 'error', finishReason: 'error', continuable: true, message: undefined } as const

/** A store and what the tests look at beside it, for one tenant that no other test has. */
export function storeOf(database: Database) {
  const store = createRunStore(database)
  const tenant = randomUUID()
  const { db } = database
  const start = async (change: Partial<NewRun> = {}) => {
    const run = newRun({ tenant, ...change })
    return { run, turn: await running(store, run) }
  }
  return {
    store,
    tenant,
    start,
    newRun: (change: Partial<NewRun> = {}) => newRun({ tenant, ...change }),
    session: (sessionId = 's') =>
      db.selectFrom('sessions').selectAll().where('tenant', '=', tenant).where('session_id', '=', sessionId).executeTakeFirst(),
    metrics: async () => toHours(await db.selectFrom('metrics').selectAll().where('tenant', '=', tenant).orderBy('hour').execute()),
    count: async (table: 'messages' | 'runs' | 'run_steps' | 'sessions') => {
      const rows = await db.selectFrom(table).select('tenant').where('tenant', '=', tenant).execute()
      return rows.length
    },
    texts: async (session: string, from = 0) => (await store.history(tenant, session, from)).map(({ idx, content }) => `${idx} ${content}`),
  }
}

/** The figures of each hour, in one row. */
function toHours(rows: Selectable<Tables['metrics']>[]) {
  return [...Map.groupBy(rows, ({ hour: row }) => row - (row % hourMs))].map(([start, those]) => {
    const { removed: _, ...sums } = { ...those[0]!, hour: start }
    for (const row of those.slice(1)) {
      for (const column of summed) sums[column] += row[column]
    }
    const withRuns = those.filter(({ success, error, cancelled, timeout }) => success + error + cancelled + timeout > 0)
    if (withRuns.length > 0) {
      sums.min_latency_ms = Math.min(...withRuns.map((row) => row.min_latency_ms))
      sums.max_latency_ms = Math.max(...withRuns.map((row) => row.max_latency_ms))
    }
    return sums
  })
}

const hourMs = 3_600_000
const summed = ['success', 'error', 'cancelled', 'timeout', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'latency_ms'] as const

/** Begins a run that is to have its session at once. */
export async function running(store: RunStore, run: NewRun): Promise<Turn> {
  const begun = await store.begin(run)
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  return begun.turn
}

/** Deletes a session as its owner would while a run has it. */
export async function deleteSession(database: Database, key: string): Promise<void> {
  for (const query of [
    database.db.deleteFrom('messages').where('session', '=', key),
    database.db.deleteFrom('sessions').where('key', '=', key),
  ]) {
    const { sql, parameters } = query.compile()
    await database.all.unit((connection) => connection.execute(sql, parameters))
  }
}
