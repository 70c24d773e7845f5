/**
 * What is removed when it has become old, in the order in which it is looked at: sessions since their last activity, runs since their end,
 * memories since they were heard last, marks since they are marks, access keys since their expiry, hourly figures.
 */
export const retentionKinds = ['sessions', 'runs', 'memories', 'deleted_sessions', 'access_keys', 'metrics'] as const

export type RetentionKind = (typeof retentionKinds)[number]

/** Port: what becomes old. `before` everywhere is in epoch milliseconds. */
export interface RetentionStore {
  /** Tenants that may have some of a kind from before then, none twice. */
  tenants(kind: RetentionKind, before: number): AsyncIterable<string>
  /** How many there are, without those that go with a session from before `sessionsBefore`. */
  count(kind: RetentionKind, tenant: string, before: number, sessionsBefore: number): Promise<number>
  /**
   * Removes the oldest, `most` at most, in one transaction, and answers with their number; 0: none is left. A run that has not ended stays,
   * and one whose callback is still to be sent, each with its session. A session goes as when its owner deletes it; a run of one
   * that stays becomes a mark, as those of deleted sessions are.
   */
  remove(kind: RetentionKind, tenant: string, before: number, by: { most: number; now: number }): Promise<number>
}
