import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '../postgres-server.ts'
import { residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { fillPostgres, fillSqlite, sessionOf, spanMs, type Made } from '../rows.ts'
import { main, makeFolder, settingsOf, startService, untilToolsReady, writeAgent, type StartedService } from '../service.ts'
import { quantile } from '../sides.ts'
import { onPostgres } from './postgres.ts'

interface Parts {
  runs: number
}

const sessions = 1_000_000
const caller = 7
const repeats = 30
/** What is listed stays as it was made. */
const retention = { sessions: 0, runs: 0 }
/** Longer, and a page is no page: what else the service does waits as long on the embedded database. */
const aimMs = 50

/** Lists, logs and metrics of a service that was used for a year: the embedded database (left) and Postgres (right). */
export async function lists({ runs }: Parts): Promise<Figure[]> {
  const made = { sessions, runs }
  const embedded = await onSqlite(made)
  const shared = await onServer(made)
  const size = `${made.sessions.toLocaleString('en')} sessions, ${made.runs.toLocaleString('en')} runs`
  return [
    { what: `${size}: made in`, relay: number(embedded.madeMs / 1000, 's'), service: number(shared.madeMs / 1000, 's') },
    ...embedded.times.map(({ what, ms }, index): Figure => {
      const right = shared.times[index]!.ms
      const cell = (times: readonly number[]) => `${number(quantile(times, 0.5))} / ${number(quantile(times, 0.95), 'ms')}`
      const isMet = quantile(ms, 0.95) < aimMs && quantile(right, 0.95) < aimMs
      return { what: `${what}, p50 / p95`, relay: cell(ms), service: cell(right), aim: `p95 < ${aimMs} ms`, isMet }
    }),
    { what: 'memory of the service after that', relay: number(embedded.memoryMb, 'MB'), service: number(shared.memoryMb, 'MB') },
  ]
}

interface Listed {
  madeMs: number
  times: { what: string; ms: number[] }[]
  memoryMb: number
}

async function onSqlite(made: Made): Promise<Listed> {
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, 1, [], { retention })
    const first = await startService(folder)
    await first.part.stop()
    const now = Date.now()
    const madeMs = fillSqlite(path.join(folder, 'data', 'agent-core.db'), made, now)
    return { madeMs, ...(await ask(folder, {}, made, now)) }
  } finally {
    await remove()
  }
}

async function onServer(made: Made): Promise<Listed> {
  // What is loaded here can be made again.
  const server = await startPostgres(undefined, ['wal_level=minimal', 'max_wal_senders=0'])
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, 1, [], { retention })
    const env = onPostgres(await server.createDatabase())
    const first = await startService(folder, { env })
    await first.part.stop()
    const now = Date.now()
    const madeMs = await fillPostgres(env['DATABASE_URL']!, made, now)
    return { madeMs, ...(await ask(folder, env, made, now)) }
  } finally {
    await server.stop()
    await remove()
  }
}

async function ask(folder: string, env: NodeJS.ProcessEnv, made: Made, now: number): Promise<Omit<Listed, 'madeMs'>> {
  const create = ['keys', 'create', '--sub', `caller-${caller}`]
  const options = { cwd: folder, env: { ...process.env, ...settingsOf(folder), ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...create], options)
  const service = await startService(folder, { env })
  await untilToolsReady(service)
  const times: Listed['times'] = []
  for (const { what, url, isAdmin } of questions(made, now)) {
    const key = isAdmin ? service.key : stdout.trim()
    const ms: number[] = []
    for (let n = 0; n <= repeats; n++) {
      const took = await timeOf(service, url, key)
      if (n > 0) ms.push(took)
    }
    times.push({ what, ms })
  }
  const memoryMb = residentMb(service.part.pid) ?? NaN
  await service.part.stop()
  return { times, memoryMb }
}

interface Question {
  what: string
  url: string
  isAdmin: boolean
}

function questions(made: Made, now: number): Question[] {
  const sessionPages = (whose: string, last: number, isAdmin: boolean): Question[] => {
    const page = (name: string, query: string) => ({
      what: `sessions of ${whose}, ${name} page`,
      url: `/core/v1/sessions${query}`,
      isAdmin,
    })
    const behind = (share: number) => `?before=${sessionOf(caller, made, share)}`
    return [page('first', ''), page('middle', behind(0.5)), page('last', behind(last))]
  }
  // Seven of ten are the tenant's.
  const own = Math.floor(made.runs * 0.7)
  const middle = now - spanMs / 2
  const day = `start_timestamp=${Math.floor(middle)}&end_timestamp=${Math.floor(middle + 86_400_000)}`
  const logs = (what: string, query: string) => ({ what: `logs, ${what}`, url: `/core/v1/logs?${query}`, isAdmin: true })
  return [
    ...sessionPages('one caller', 0.05, false),
    ...sessionPages('the tenant', 0, true),
    logs('first page', 'limit=20'),
    logs('page in the middle', `limit=20&offset=${Math.floor(own / 2)}`),
    logs('last page', `limit=20&offset=${own - 20}`),
    logs('of one day, page in the middle', `limit=20&${day}&offset=${Math.floor(own / 365 / 2)}`),
    { what: 'metrics of all time', url: '/core/v1/metrics', isAdmin: true },
    { what: 'metrics of one day', url: `/core/v1/metrics?${day}`, isAdmin: true },
  ]
}

async function timeOf({ port }: StartedService, url: string, key: string): Promise<number> {
  const sentAt = performance.now()
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { 'x-service-access': key } })
  const text = await answer.text()
  if (!answer.ok || text.length < 50) throw new Error(`${url} was answered ${answer.status} ${text}`)
  return performance.now() - sentAt
}
