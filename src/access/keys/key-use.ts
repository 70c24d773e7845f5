import type { AccessKeyStore } from './keys.ts'

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
const defaultIntervalMs = 20_000
const batchSize = 500
/** Keys beyond this number are forgotten while the store cannot be reached. */
const maxKeys = 100_000

export function createKeyUse({ store, now, onError, intervalMs = defaultIntervalMs }: KeyUseOptions): KeyUse {
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
