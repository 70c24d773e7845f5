import type { AgentConfig } from '../../configuration/schema.ts'
import { retentionKinds, type RetentionKind, type RetentionStore } from './retention-store.ts'

/** Number of expired items of one kind and tenant. */
export interface ExpiredItems {
  kind: RetentionKind
  tenant: string
  count: number
}

interface RetentionDependencies {
  store: RetentionStore
  /** Limit per kind in days; 0 means no limit. */
  retention: AgentConfig['retention']
  /** Epoch milliseconds. */
  now(): number
}

export interface PruneOptions extends RetentionDependencies {
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
function limitsOf(retention: AgentConfig['retention'], now: number): [RetentionKind, number][] {
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
