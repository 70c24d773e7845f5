import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '../postgres-server.ts'
import { residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { fillPostgres, fillSqlite } from '../rows.ts'
import type { RowCounts } from '../row-values.ts'
import { makeFolder, program, settingsOf, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { quantile } from '../sides.ts'
import { caller, questionsOf } from './list-questions.ts'
import { postgresEnv } from './postgres.ts'

interface ListsInput {
  runs: number
}

const mostSessions = 1_000_000
const repeats = 15
/** Retention is off, so that the generated rows stay. */
const retention = { sessions: 0, runs: 0 }
/** Upper limit of the 95th percentile. The embedded database is synchronous: a slow page delays all other requests as long. */
const aimMs = 50

/** Lists, logs and metrics after a year of use: the embedded database (left) and Postgres (right). */
export async function lists({ runs }: ListsInput): Promise<Figure[]> {
  const counts = { sessions: Math.min(runs, mostSessions), runs }
  const embedded = await onSqlite(counts)
  const postgresResult = await onServer(counts)
  const size = `${counts.sessions.toLocaleString('en')} sessions, ${counts.runs.toLocaleString('en')} runs`
  return [
    { label: `${size}: generated in`, relay: number(embedded.fillMs / 1000, 's'), service: number(postgresResult.fillMs / 1000, 's') },
    ...embedded.groups.map((slowest, index): Figure => {
      const slowestOnPostgres = postgresResult.groups[index]!
      const isMet = slowest.p95 < aimMs && slowestOnPostgres.p95 < aimMs
      const { group, pages } = slowest
      return {
        label: `${group}: slowest of ${pages} pages, p50 / p95`,
        relay: cellOf(slowest),
        service: cellOf(slowestOnPostgres),
        aim: `p95 < ${aimMs} ms`,
        isMet,
      }
    }),
    { label: 'memory of the service at the end', relay: number(embedded.memoryMb, 'MB'), service: number(postgresResult.memoryMb, 'MB') },
  ]
}

function cellOf({ p50, p95, filter, page }: SlowestPage): string {
  // Values of times, such as `since=2026-01-01T00:00:00.000Z`, would make the column too wide.
  const filters = filter.replace(/=\d[\w.:-]{9,}/g, '')
  return [`${number(p50)} / ${number(p95, 'ms')}`, filters, page].filter(Boolean).join(', ')
}

/** The page with the largest 95th percentile of a list and its reader, in milliseconds. */
interface SlowestPage {
  group: string
  /** Number of pages in the group. */
  pages: number
  filter: string
  page: string
  p50: number
  p95: number
}

interface ListResult {
  fillMs: number
  groups: SlowestPage[]
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
  const { stdout } = await promisify(execFile)(process.execPath, [...program, ...create], options)
  const service = await startService(folder, { env })
  await untilToolsReady(service)
  const groups = new Map<string, SlowestPage>()
  for (const { group, filter, page, path: url, isAdmin } of questionsOf(counts, now)) {
    const ms = await timesOf(service, url, isAdmin ? service.key : stdout.trim())
    const [p50, p95] = [quantile(ms, 0.5), quantile(ms, 0.95)]
    const slowest = groups.get(group)
    const pages = (slowest?.pages ?? 0) + 1
    groups.set(group, slowest && slowest.p95 >= p95 ? { ...slowest, pages } : { group, pages, filter, page, p50, p95 })
  }
  const memoryMb = residentMb(service.part.pid) ?? NaN
  await service.part.stop()
  return { groups: [...groups.values()], memoryMb }
}

/** The first answer warms up; a page that takes longer than a second is asked for a few times only. */
async function timesOf(service: StartedService, url: string, key: string): Promise<number[]> {
  const count = (await timeOf(service, url, key)) > 1000 ? 3 : repeats
  const ms: number[] = []
  for (let n = 0; n < count; n++) ms.push(await timeOf(service, url, key))
  return ms
}

async function timeOf({ port }: StartedService, url: string, key: string): Promise<number> {
  const sentAt = performance.now()
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { 'x-service-access': key } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} was answered with status ${answer.status}: ${text}`)
  return performance.now() - sentAt
}
