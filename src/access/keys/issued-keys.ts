import type { Bus } from '../../replicas/bus.ts'
import type { AccessKeyStore } from './keys.ts'
import { reachState } from '../../states.ts'

/**
 * Maximum clock difference between replicas: a poll looks back this far, at the cost of an index range, to miss no
 * revocation.
 */
const overlapMs = 10 * 60_000

/**
 * Polling interval besides the bus. A revoked key stops working within 5 s everywhere: two polls fit into that, so one
 * may fail.
 */
const pollIntervalMs = 2000

/**
 * Polls fail while the store is away, and do not happen while the process is suspended. After this time the known
 * revocations are no longer sufficient to accept a key.
 */
const maxAgeMs = 5000

/** The revoked keys in memory, checked on every request. */
export interface Revocations {
  isRevoked(jti: string): boolean
  /** True when no poll of the last 5 s has succeeded: `freshen` must resolve before a key is accepted. */
  isStale(): boolean
  /** Polls until the revocations are not stale. Rejects when the store cannot be read. */
  freshen(): Promise<void>
  /** Puts a revocation that is stored in force here at once, and in the other processes. */
  announce(jti: string): void
  /** Polls now; rejects when the store cannot be read. Concurrent calls share one poll. */
  refresh(): Promise<void>
  close(): Promise<void>
}

export interface RevocationOptions {
  /** Epoch milliseconds. */
  now(): number
  bus: Bus
  /** Reports a failed poll: the known revocations stay in force. */
  onError(error: unknown): void
  intervalMs?: number
}

/**
 * Loads the revoked keys and keeps them fresh until `close`. Rejects when the first poll fails: no request is served
 * with unknown revocations.
 */
export async function createRevocations(store: AccessKeyStore, options: RevocationOptions): Promise<Revocations> {
  const { now, bus, onError, intervalMs = pollIntervalMs } = options
  const revoked = new Set<string>()
  let since = 0
  /** Start of the last successful poll. */
  let polledAt = -Infinity
  let polling: Promise<void> | undefined

  async function poll(): Promise<void> {
    const startedAt = now()
    for (const { jti } of await store.revokedSince(since)) revoked.add(jti)
    since = Math.max(0, startedAt - overlapMs)
    polledAt = startedAt
  }

  const isStale = () => now() - polledAt > maxAgeMs

  async function freshen(): Promise<void> {
    if (isStale()) await refresh()
    // The first poll may have begun before a suspension of the process. The second poll begins after the call.
    if (isStale()) await refresh()
  }

  function refresh(): Promise<void> {
    polling ??= poll().finally(() => {
      polling = undefined
    })
    return polling
  }

  function hear({ jti }: { jti: string }): void {
    reachState('revocation-heard')
    revoked.add(jti)
  }

  const refreshInBackground = () => void refresh().catch(onError)
  const endings = [bus.subscribe('revoked', hear), bus.onGap(refreshInBackground)]
  try {
    await refresh()
  } catch (error) {
    for (const end of endings) end()
    throw error
  }
  const timer = setInterval(refreshInBackground, intervalMs)
  timer.unref()

  async function close(): Promise<void> {
    clearInterval(timer)
    for (const end of endings) end()
    await polling?.catch(() => undefined)
  }

  function announce(jti: string): void {
    revoked.add(jti)
    bus.publish('revoked', { jti })
  }

  return { isRevoked: (jti) => revoked.has(jti), isStale, freshen, announce, refresh, close }
}

/** The last use of each key, collected in memory and stored now and then. */
export interface KeyUse {
  /** Records that a key is used now. Free of I/O. */
  record(jti: string): void
  /** Stores the collected uses. Never rejects: a failure is reported, and the uses stay for the next call. */
  flush(): Promise<void>
  /** Stores the last uses and stops. */
  close(): Promise<void>
}

export interface KeyUseOptions {
  store: Pick<AccessKeyStore, 'markUsed'>
  /** Epoch milliseconds. */
  now(): number
  onError(error: unknown): void
  intervalMs?: number
}

/**
 * Interval between two writes, and the age from which a stored use is replaced. Both together stay below the minute to
 * which a listed use is exact.
 */
const useIntervalMs = 20_000
const batchSize = 500
/** Keys beyond this number are forgotten while the store cannot be reached. */
const maxKeys = 100_000

export function createKeyUse({ store, now, onError, intervalMs = useIntervalMs }: KeyUseOptions): KeyUse {
  let used = new Set<string>()
  let flushing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    if (used.size === 0) return
    const keys = [...used]
    used = new Set()
    const at = now()
    for (let start = 0; start < keys.length; start += batchSize) {
      try {
        await store.markUsed(keys.slice(start, start + batchSize), at, at - intervalMs)
      } catch (error) {
        for (const jti of keys.slice(start)) record(jti)
        return onError(error)
      }
    }
  }

  function record(jti: string): void {
    if (used.size < maxKeys) used.add(jti)
  }

  const flush = () => (flushing = flushing.then(write))
  const timer = setInterval(() => void flush(), intervalMs)
  timer.unref()
  return {
    record,
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
