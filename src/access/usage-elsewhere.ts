import type { Bus } from '../replicas/bus.ts'
import type { CallerIds } from './caller-ids.ts'
import type { Owner } from './owner.ts'
import type { RateLimits, RequestLimits } from './rate-limits.ts'

/** What callers use of the other processes of the service, as far as limits are configured. */
export interface UsageElsewhere {
  /** Runs of a caller that the others have told of. */
  runsOf(caller: Owner): number
  close(): void
}

export interface UsageOptions {
  bus: Bus
  /** Names this process. */
  process: string
  idOf: CallerIds
  /** As they are now. */
  limits(): RateLimits
  requests: Pick<RequestLimits, 'add' | 'drainUnpublished'>
  /** Whose runs this process has, one for each that has begun and not ended. */
  running(): Iterable<Owner>
  /** Milliseconds, of a clock that never goes back. */
  now(): number
  intervalMs?: number
}

/** What was used is told so often. */
const defaultIntervalMs = 1000
/** A notification holds 8000 bytes, a caller takes about 20 of them. */
const maxInOne = 250
/** Of more callers the rest is told a moment later. */
const maxAtOnce = 2000
/** Who has runs is told anew so often, and believed for so long: news may get lost, and processes die. */
const sayAgainMs = 10_000
const believedMs = 25_000

interface Told {
  count: number
  at: number
}

/**
 * Tells the other processes what callers used of this one, and hears it of them. Only what changed is told, and only where limits are
 * configured; the request that is counted waits for nothing.
 */
export function shareUsage(options: UsageOptions): UsageElsewhere {
  const { bus, process, idOf, requests, now, intervalMs = defaultIntervalMs } = options
  /** Runs: of this process by caller, as it told them last; and of the others, by process. */
  const told = new Map<string, Told>()
  const others = new Map<string, Map<string, Told>>()

  function tell(): void {
    const counted = requests.drainUnpublished(maxAtOnce)
    const runs = changedRuns()
    for (let from = 0; from < Math.max(counted.length, runs.length); from += maxInOne / 2) {
      const part = <T>(list: readonly T[]) => list.slice(from, from + maxInOne / 2)
      bus.publish('used', { process, requests: part(counted), runs: part(runs) })
    }
  }

  function changedRuns(): [id: string, count: number][] {
    const isLimited = Object.values(options.limits()).some((limit) => limit.concurrent_runs !== undefined)
    if (!isLimited && told.size === 0) return []
    const counts = new Map<string, number>()
    if (isLimited) for (const owner of options.running()) counts.set(idOf(owner), (counts.get(idOf(owner)) ?? 0) + 1)
    for (const id of told.keys()) if (!counts.has(id)) counts.set(id, 0)
    const at = now()
    const changed = [...counts].filter(([id, count]) => {
      const before = told.get(id)
      return count !== (before?.count ?? 0) || at - (before?.at ?? 0) >= sayAgainMs
    })
    const some = changed.slice(0, maxAtOnce)
    for (const [id, count] of some) {
      if (count === 0) told.delete(id)
      else told.set(id, { count, at })
    }
    return some
  }

  function hearRuns(from: string, runs: readonly [id: string, count: number][]): void {
    const theirs = others.get(from) ?? new Map<string, Told>()
    if (runs.length > 0) others.set(from, theirs)
    for (const [id, count] of runs) {
      if (count === 0) theirs.delete(id)
      else theirs.set(id, { count, at: now() })
    }
  }

  function forgetSilent(): void {
    const since = now() - believedMs
    for (const [name, runs] of others) {
      for (const [id, { at }] of runs) if (at < since) runs.delete(id)
      if (runs.size === 0) others.delete(name)
    }
  }

  const endings = [
    bus.subscribe('used', (used) => {
      for (const [id, count] of used.requests) requests.add(id, count)
      hearRuns(used.process, used.runs)
    }),
    bus.subscribe('left', ({ holder }) => void others.delete(holder)),
  ]
  const timer = setInterval(() => {
    tell()
    forgetSilent()
  }, intervalMs)
  timer.unref()

  return {
    runsOf(caller) {
      let runs = 0
      for (const theirs of others.values()) runs += theirs.get(idOf(caller))?.count ?? 0
      return runs
    },
    close() {
      clearInterval(timer)
      for (const end of endings) end()
    },
  }
}
