import type { AgentConfig } from '../../configuration/schema.ts'
import { retentionKinds, type RetentionKind, type RetentionStore } from './retention-store.ts'

/** How many of a kind a tenant had that were too old. */
export interface OldThings {
  kind: RetentionKind
  tenant: string
  count: number
}

interface Limits {
  store: RetentionStore
  /** Days; 0: for ever. */
  retention: AgentConfig['retention']
  /** Epoch milliseconds. */
  now(): number
}

export interface PruneOptions extends Limits {
  sleep(ms: number): Promise<void>
  /** It rests so many times as long as a batch took: chats go on in between. */
  rest: number
  signal?: AbortSignal | undefined
  /** Ends after so long, with more to be done. */
  limitMs?: number
  onRemoved(things: OldThings): void
}

const dayMs = 24 * 3_600_000
const firstBatch = 10
const largestBatch = 200
/** Below that it is the commit that takes long, or the way to the database. */
const smallestBatch = 5
/** A batch should take no longer: on SQLite everybody waits for it. */
const batchMs = 25

/** What would be removed now. */
export async function* findOld({ store, retention, now }: Limits): AsyncGenerator<OldThings, void> {
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
 * Removes what is too old in small batches, each a transaction: wherever it is stopped, the next one goes on. False where it was stopped,
 * or took too long.
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
          removed = await batches.next((most) => store.remove(kind, tenant, before, { most, now: now() }))
        }
      } finally {
        if (count > 0) options.onRemoved({ kind, tenant, count })
      }
      if (isOver()) return false
    }
  }
  return true
}

/** The kinds that have a limit, and since when they are too old. */
function limitsOf(retention: AgentConfig['retention'], now: number): [RetentionKind, number][] {
  return retentionKinds.filter((kind) => retention[kind] > 0).map((kind) => [kind, now - retention[kind] * dayMs])
}

/** Finds by itself how much can be removed in the time of a batch. */
function createBatches({ sleep, rest }: Pick<PruneOptions, 'sleep' | 'rest'>) {
  let most = firstBatch
  return {
    async next(remove: (most: number) => Promise<number>): Promise<number> {
      const begun = performance.now()
      const removed = await remove(most)
      const tookMs = performance.now() - begun
      if (tookMs > batchMs) most = Math.max(smallestBatch, Math.floor((most * batchMs) / tookMs))
      else if (tookMs < batchMs / 2) most = Math.min(largestBatch, most * 2)
      if (removed > 0) await sleep(tookMs * rest)
      return removed
    },
  }
}
