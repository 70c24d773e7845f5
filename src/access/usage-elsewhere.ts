import type { Bus } from '../replicas/bus.ts'
import type { CallerIds, RateLimits, RequestLimits } from './rate-limits.ts'
import type { Owner } from './owner.ts'

/** The usage of callers in other processes of the service, when limits are configured. */
export interface UsageElsewhere {
  /** Number of a caller's runs in other processes. */
  runsOf(caller: Owner): number
  close(): void
}

export interface UsageOptions {
  bus: Bus
  /** Id of this process. */
  process: string
  idOf: CallerIds
  /** The current limits. */
  limits(): RateLimits
  requests: Pick<RequestLimits, 'add' | 'drainUnpublished'>
  /** The owners of the runs in this process, once per run that has begun and not ended. */
  running(): Iterable<Owner>
  /** Milliseconds of a monotonic clock. */
  now(): number
  intervalMs?: number
}

/** Interval of messages. */
const defaultIntervalMs = 1000
/** Callers per message: a notification holds 8000 bytes, a caller takes about 20. */
const maxPerMessage = 250
/** Callers per interval; the rest follows in the next interval. */
const maxPerInterval = 2000
/** Run counts are repeated at this interval and expire after `expiryMs`: messages may get lost, and processes die. */
const repeatMs = 10_000
const expiryMs = 25_000

interface RunCount {
  count: number
  at: number
}

/**
 * Publishes the usage of callers in this process and collects the usage in others. Only changes are published, and only
 * when limits are configured; counted requests do not wait.
 */
export function shareUsage(options: UsageOptions): UsageElsewhere {
  const { bus, process, idOf, requests, now, intervalMs = defaultIntervalMs } = options
  /** Run counts of this process by caller, as last published. */
  const published = new Map<string, RunCount>()
  /** Run counts of other processes, by process and caller. */
  const runsByProcess = new Map<string, Map<string, RunCount>>()

  function publish(): void {
    const requestCounts = requests.drainUnpublished(maxPerInterval)
    const runs = changedRuns()
    for (let start = 0; start < Math.max(requestCounts.length, runs.length); start += maxPerMessage / 2) {
      const part = <T>(list: readonly T[]) => list.slice(start, start + maxPerMessage / 2)
      bus.publish('used', { process, requests: part(requestCounts), runs: part(runs) })
    }
  }

  function changedRuns(): [id: string, count: number][] {
    const isLimited = Object.values(options.limits()).some((limit) => limit.concurrent_runs !== undefined)
    if (!isLimited && published.size === 0) return []
    const counts = new Map<string, number>()
    if (isLimited) for (const owner of options.running()) counts.set(idOf(owner), (counts.get(idOf(owner)) ?? 0) + 1)
    for (const id of published.keys()) if (!counts.has(id)) counts.set(id, 0)
    const at = now()
    const changed = [...counts].filter(([id, count]) => {
      const before = published.get(id)
      return count !== (before?.count ?? 0) || at - (before?.at ?? 0) >= repeatMs
    })
    const batch = changed.slice(0, maxPerInterval)
    for (const [id, count] of batch) {
      if (count === 0) published.delete(id)
      else published.set(id, { count, at })
    }
    return batch
  }

  function receiveRuns(processId: string, runs: readonly [id: string, count: number][]): void {
    const counts = runsByProcess.get(processId) ?? new Map<string, RunCount>()
    if (runs.length > 0) runsByProcess.set(processId, counts)
    for (const [id, count] of runs) {
      if (count === 0) counts.delete(id)
      else counts.set(id, { count, at: now() })
    }
  }

  function forgetSilent(): void {
    const since = now() - expiryMs
    for (const [name, runs] of runsByProcess) {
      for (const [id, { at }] of runs) if (at < since) runs.delete(id)
      if (runs.size === 0) runsByProcess.delete(name)
    }
  }

  const endings = [
    bus.subscribe('used', (used) => {
      for (const [id, count] of used.requests) requests.add(id, count)
      receiveRuns(used.process, used.runs)
    }),
    bus.subscribe('left', ({ holder }) => void runsByProcess.delete(holder)),
  ]
  const timer = setInterval(() => {
    publish()
    forgetSilent()
  }, intervalMs)
  timer.unref()

  return {
    runsOf(caller) {
      let runs = 0
      for (const counts of runsByProcess.values()) runs += counts.get(idOf(caller))?.count ?? 0
      return runs
    },
    close() {
      clearInterval(timer)
      for (const end of endings) end()
    },
  }
}
