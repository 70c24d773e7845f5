import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '../postgres-server.ts'
import { residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { fillPostgres, fillSqlite, sessionOf, spanMs, type RowCounts } from '../rows.ts'
import { main, makeFolder, settingsOf, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { quantile } from '../sides.ts'
import { postgresEnv } from './postgres.ts'

interface ListsInput {
  runs: number
}

const sessions = 1_000_000
const caller = 7
const repeats = 30
/** Retention is off, so that the generated rows stay. */
const retention = { sessions: 0, runs: 0 }
/** Upper limit of the 95th percentile. The embedded database is synchronous: a slow page delays all other requests as long. */
const aimMs = 50

/** Lists, logs and metrics after a year of use: the embedded database (left) and Postgres (right). */
export async function lists({ runs }: ListsInput): Promise<Figure[]> {
  const counts = { sessions, runs }
  const embedded = await onSqlite(counts)
  const postgresResult = await onServer(counts)
  const size = `${counts.sessions.toLocaleString('en')} sessions, ${counts.runs.toLocaleString('en')} runs`
  return [
    { label: `${size}: generated in`, relay: number(embedded.fillMs / 1000, 's'), service: number(postgresResult.fillMs / 1000, 's') },
    ...embedded.times.map(({ label, ms }, index): Figure => {
      const postgresMs = postgresResult.times[index]!.ms
      const cell = (times: readonly number[]) => `${number(quantile(times, 0.5))} / ${number(quantile(times, 0.95), 'ms')}`
      const isMet = quantile(ms, 0.95) < aimMs && quantile(postgresMs, 0.95) < aimMs
      return { label: `${label}, p50 / p95`, relay: cell(ms), service: cell(postgresMs), aim: `p95 < ${aimMs} ms`, isMet }
    }),
    { label: 'memory of the service at the end', relay: number(embedded.memoryMb, 'MB'), service: number(postgresResult.memoryMb, 'MB') },
  ]
}

interface ListResult {
  fillMs: number
  times: { label: string; ms: number[] }[]
  memoryMb: number
}

async function onSqlite(counts: RowCounts): Promise<ListResult> {
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, 1, [], { retention })
    const first = await startService(folder)
    await first.part.stop()
    const now = Date.now()
    const fillMs = fillSqlite(path.join(folder, 'data', 'agent-core.db'), counts, now)
    return { fillMs, ...(await ask(folder, {}, counts, now)) }
  } finally {
    await remove()
  }
}

async function onServer(counts: RowCounts): Promise<ListResult> {
  // The generated data needs no replication.
  const server = await startPostgres(undefined, ['wal_level=minimal', 'max_wal_senders=0'])
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, 1, [], { retention })
    const env = postgresEnv(await server.createDatabase())
    const first = await startService(folder, { env })
    await first.part.stop()
    const now = Date.now()
    const fillMs = await fillPostgres(env['DATABASE_URL']!, counts, now)
    return { fillMs, ...(await ask(folder, env, counts, now)) }
  } finally {
    await server.stop()
    await remove()
  }
}

async function ask(folder: string, env: NodeJS.ProcessEnv, counts: RowCounts, now: number): Promise<Omit<ListResult, 'fillMs'>> {
  const create = ['keys', 'create', '--sub', `caller-${caller}`]
  const options = { cwd: folder, env: { ...process.env, ...settingsOf(folder), ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...create], options)
  const service = await startService(folder, { env })
  await untilToolsReady(service)
  const times: ListResult['times'] = []
  for (const { label, url, isAdmin } of questions(counts, now)) {
    const key = isAdmin ? service.key : stdout.trim()
    const ms: number[] = []
    for (let n = 0; n <= repeats; n++) {
      const elapsedMs = await timeOf(service, url, key)
      if (n > 0) ms.push(elapsedMs)
    }
    times.push({ label, ms })
  }
  const memoryMb = residentMb(service.part.pid) ?? NaN
  await service.part.stop()
  return { times, memoryMb }
}

interface Question {
  label: string
  url: string
  isAdmin: boolean
}

function questions(counts: RowCounts, now: number): Question[] {
  const sessionPages = (subject: string, last: number, isAdmin: boolean): Question[] => {
    const page = (name: string, query: string) => ({
      label: `sessions of ${subject}, ${name} page`,
      url: `/core/v1/sessions${query}`,
      isAdmin,
    })
    const pageAfter = (share: number) => `?before=${sessionOf(caller, counts, share)}`
    return [page('first', ''), page('middle', pageAfter(0.5)), page('last', pageAfter(last))]
  }
  // Tenant `default` has 70 % of the runs.
  const tenantRuns = Math.floor(counts.runs * 0.7)
  const middle = now - spanMs / 2
  const day = `start_timestamp=${Math.floor(middle)}&end_timestamp=${Math.floor(middle + 86_400_000)}`
  const logs = (label: string, query: string) => ({ label: `logs, ${label}`, url: `/core/v1/logs?${query}`, isAdmin: true })
  return [
    ...sessionPages('one caller', 0.05, false),
    ...sessionPages('the tenant', 0, true),
    logs('first page', 'limit=20'),
    logs('page in the middle', `limit=20&offset=${Math.floor(tenantRuns / 2)}`),
    logs('last page', `limit=20&offset=${tenantRuns - 20}`),
    logs('of one day, page in the middle', `limit=20&${day}&offset=${Math.floor(tenantRuns / 365 / 2)}`),
    { label: 'metrics of all time', url: '/core/v1/metrics', isAdmin: true },
    { label: 'metrics of one day', url: `/core/v1/metrics?${day}`, isAdmin: true },
  ]
}

async function timeOf({ port }: StartedService, url: string, key: string): Promise<number> {
  const sentAt = performance.now()
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { 'x-service-access': key } })
  const text = await answer.text()
  if (!answer.ok || text.length < 50) throw new Error(`${url} was answered with status ${answer.status}: ${text}`)
  return performance.now() - sentAt
}
