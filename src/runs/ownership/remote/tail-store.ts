import type { CompactLog } from '../../log/compact-log.ts'
import type { RunKey } from '../../run.ts'

/** Port: the events so far of runs that have readers on other replicas. The end event is stored with the run, not here. */
export interface TailStore {
  /** Adds batches of runs of one tenant. A batch that exists is not changed. */
  append(tenant: string, batches: readonly TailBatch[]): Promise<void>
  /** Batches with events after number `after`, in order; only the first batches where there are many. */
  read(key: RunKey, fence: number, after: number): Promise<Pick<TailBatch, 'first' | 'last' | 'attempt' | 'events'>[]>
  remove(key: RunKey): Promise<void>
  /** Removes the batches of runs that have ended or have another fence. */
  sweep(): Promise<void>
}

export interface TailBatch extends RunKey {
  fence: number
  /** Numbers of the first and last event. */
  first: number
  last: number
  attempt: Attempt
  events: CompactLog['events']
}

/** The position from which a process continued a run. */
export interface Attempt {
  /** Number of events that were restored from checkpoints. */
  restored: number
  /** As `EventLog.restoredAt`. */
  restoredAt: number | undefined
}

/**
 * Number of events that an attempt, which runs under the fence `to`, has in common with an earlier attempt under the fence `from`. Where
 * attempts in between are unknown, the events after `restoredAt` may be theirs.
 */
export function countCommon({ restored, restoredAt = restored }: Attempt, from: number, to: number): number {
  return from === to - 1 ? restored : Math.min(restored, restoredAt)
}
