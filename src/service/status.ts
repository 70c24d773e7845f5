import type { Logger } from 'pino'
import type { Static } from 'typebox'
import type { ServiceStatus } from '../http/resources/status.ts'
import type { Finding } from '../models/check-models.ts'
import type { Database } from '../store/database.ts'
import type { JobQueue } from '../store/jobs/jobs.ts'
import { countHeldRuns, listReplicas, type Replica } from '../store/leases/presence.ts'
import { runCheck, type ServiceCheck } from './checks/running-service.ts'

type Status = Static<typeof ServiceStatus>

interface StatusOptions {
  checks: readonly ServiceCheck[]
  database: Database
  jobs: Pick<JobQueue, 'states'>
  /** This process. */
  process: { id: string; startedAt: number; host: string; version: string }
  now(): number
  log: Logger
}

/** The health of the whole service. */
export interface StatusReader {
  /** At most one computation runs at a time, and its result is used for 10 s. */
  read(): Promise<Status>
}

const keptMs = 10_000

export function createStatus({ checks, database, jobs, process, now, log }: StatusOptions): StatusReader {
  const results = new Map<ServiceCheck, { findings: Finding[]; subject: string | undefined; until: number }>()
  let latest: { status: Promise<Status>; until: number } | undefined

  async function resultOf(check: ServiceCheck): Promise<Finding[]> {
    const [former, subject] = [results.get(check), check.subject?.()]
    if (former && former.until > now() && former.subject === subject) return former.findings
    const findings = await runCheck(check, (err) => log.warn({ err, check: check.name }, 'A check of the status failed'))
    // A problem may be solved at any time.
    const isGood = findings.every(({ state }) => state === 'ok')
    results.set(check, { findings, subject, until: now() + (isGood ? check.keptMs : Math.min(check.keptMs, 30_000)) })
    return findings
  }

  async function compute(): Promise<Status> {
    const [found, replicas, states] = await Promise.all([
      Promise.all(checks.map(async (check) => (await resultOf(check)).map((finding) => toCheck(check.name, finding)))),
      readReplicas().catch(toNothing),
      jobs.states().catch(toNothing),
    ])
    return {
      version: process.version,
      checked_at: toTime(now()),
      checks: found.flat(),
      replicas: replicas.map(toReplica),
      jobs: Object.fromEntries(states.map(({ kind, due, scheduled, running, failed }) => [kind, { due, scheduled, running, failed }])),
    }
  }

  /** The check of the store states why the database does not answer. */
  function toNothing(err: unknown): [] {
    log.warn({ err }, 'The status of processes and jobs could not be read')
    return []
  }

  async function readReplicas(): Promise<Replica[]> {
    if (database.isShared) return listReplicas(database)
    const runs = (await countHeldRuns(database)).get(process.id) ?? 0
    return [{ ...process, lastSeenAt: now(), isAlive: true, runs }]
  }

  return {
    read() {
      if (latest && latest.until > now()) return latest.status
      // Until the end of the computation, however long it takes, all readers share it.
      const reading = { status: compute(), until: Number.POSITIVE_INFINITY }
      latest = reading
      const settle = () => void (reading.until = now() + keptMs)
      reading.status.then(settle, () => void (latest = undefined))
      return reading.status
    },
  }
}

const statusOf = { ok: 'ok', warn: 'warning', fail: 'error' } as const

function toCheck(name: string, { state, text, advice }: Finding): Status['checks'][number] {
  return { name, status: statusOf[state], message: text, ...(advice !== undefined && { remedy: advice }) }
}

function toReplica({ id, host, version, startedAt, lastSeenAt, isAlive, runs }: Replica): Status['replicas'][number] {
  const started_at = startedAt === undefined ? null : toTime(startedAt)
  return { id, host: host ?? null, version: version ?? null, started_at, last_seen_at: toTime(lastSeenAt), is_alive: isAlive, runs }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
