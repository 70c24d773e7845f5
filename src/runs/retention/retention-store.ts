/**
 * Kinds of data with a retention limit, in the order of removal. Age counts from: the last activity of a session, the end of a run, the
 * last mention of a memory, the creation of a tombstone (`deleted_sessions`), the expiry of an access key, the creation of an upload, the
 * hour of a metric.
 */
export const retentionKinds = ['sessions', 'runs', 'memories', 'deleted_sessions', 'access_keys', 'uploads', 'metrics'] as const

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
