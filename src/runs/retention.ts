/** Number of expired items of one kind and tenant. */
export interface ExpiredItems {
  kind: RetentionKind
  tenant: string
  count: number
}

interface RetentionDependencies {
  store: RetentionStore
  /** Limit per kind in days; 0 means no limit. */
  retention: Readonly<Record<RetentionKind, number>>
  /** Epoch milliseconds. */
  now(): number
}

interface PruneOptions extends RetentionDependencies {
  sleep(ms: number): Promise<void>
  /** After each batch, `prune` sleeps for the duration of the batch times this factor, so that chats can use the database. */
  restFactor: number
  signal?: AbortSignal | undefined
  /** Milliseconds after which `prune` ends, even when expired items remain. */
  limitMs?: number
  onRemoved(things: ExpiredItems): void
}

const dayMs = 24 * 3_600_000
const firstBatch = 10
const largestBatch = 200
/** Smaller batches save nothing: the commit or the network round trip dominates their duration. */
const smallestBatch = 5
/** Target duration of a batch in milliseconds. On SQLite, every other write waits for a batch. */
const batchMs = 25

/** Counts the items that `prune` would remove now. */
export async function* findExpired({ store, retention, now }: RetentionDependencies): AsyncGenerator<ExpiredItems, void> {
  const limits = limitsOf(retention, now())
  const sessionsBefore = new Map(limits).get('sessions') ?? 0
  for (const [kind, before] of limits) {
    for await (const tenant of store.tenants(kind, before)) {
      const count = await store.count(kind, tenant, before, sessionsBefore)
      if (count > 0) yield { kind, tenant, count }
    }
  }
}

/**
 * Removes expired items in small batches, each in a transaction, so that a later call can continue after a stop at any point. Resolves with
 * false when `signal` or `limitMs` ended the removal early.
 */
export async function prune(options: PruneOptions): Promise<boolean> {
  const { store, retention, now, signal, limitMs = Infinity } = options
  const until = performance.now() + limitMs
  const isOver = () => (signal?.aborted ?? false) || performance.now() >= until
  const batches = createBatches(options)
  for (const [kind, before] of limitsOf(retention, now())) {
    for await (const tenant of store.tenants(kind, before)) {
      let count = 0
      try {
        for (let removed = Infinity; removed > 0 && !isOver(); count += removed) {
          removed = await batches.next((limit) => store.remove(kind, tenant, before, { limit, now: now() }))
        }
      } finally {
        if (count > 0) options.onRemoved({ kind, tenant, count })
      }
      if (isOver()) return false
    }
  }
  return true
}

/** Kinds with a limit, each with the time (epoch milliseconds) before which items are expired. */
function limitsOf(retention: RetentionDependencies['retention'], now: number): [RetentionKind, number][] {
  return retentionKinds.filter((kind) => retention[kind] > 0).map((kind) => [kind, now - retention[kind] * dayMs])
}

/** Adapts the size of the batches so that a batch takes about `batchMs`. */
function createBatches({ sleep, restFactor }: Pick<PruneOptions, 'sleep' | 'restFactor'>) {
  let batchSize = firstBatch
  return {
    async next(remove: (limit: number) => Promise<number>): Promise<number> {
      const startedAt = performance.now()
      const removed = await remove(batchSize)
      const tookMs = performance.now() - startedAt
      if (tookMs > batchMs) batchSize = Math.max(smallestBatch, Math.floor((batchSize * batchMs) / tookMs))
      else if (tookMs < batchMs / 2) batchSize = Math.min(largestBatch, batchSize * 2)
      if (removed > 0) await sleep(tookMs * restFactor)
      return removed
    },
  }
}

/**
 * Kinds of data with a retention limit, in the order of removal. Age counts from: the last activity of a session, the end of a run, the
 * last mention of a memory, the creation of a tombstone (`deleted_sessions`), the expiry of an access key, the creation of an upload, the
 * hour of a metric, the event of the ledger.
 */
export const retentionKinds = ['sessions', 'runs', 'memories', 'deleted_sessions', 'access_keys', 'uploads', 'metrics', 'audit'] as const

export type RetentionKind = (typeof retentionKinds)[number]

/** Port: data with a retention limit. `before` is in epoch milliseconds. */
export interface RetentionStore {
  /** Tenants that may have items of a kind older than `before`, without duplicates. */
  tenants(kind: RetentionKind, before: number): AsyncIterable<string>
  /** Number of expired items, without items that are removed together with a session older than `sessionsBefore`. */
  count(kind: RetentionKind, tenant: string, before: number, sessionsBefore: number): Promise<number>
  /**
   * Removes the oldest items, at most `limit`, in one transaction. Resolves with the number of removed items; 0 when nothing is left to
   * remove. A run that has not ended or whose callback is pending is kept, together with the session. A session is removed as if the owner
   * had deleted the session. A removed run of a remaining session leaves a tombstone, as the runs of deleted sessions do.
   */
  remove(kind: RetentionKind, tenant: string, before: number, batch: { limit: number; now: number }): Promise<number>
}
