import type { CompactLog } from '../../log/compact-log.ts'
import type { RunKey } from '../../run.ts'

/** Port: what runs have told so far, kept for their readers on other replicas; without their ends, which the runs themselves are kept with. */
export interface TailStore {
  /** Of runs of one tenant. A batch that is there is left as it is. */
  append(tenant: string, batches: readonly TailBatch[]): Promise<void>
  /** Batches with events behind number `after`, in order; a portion of them when there are many. */
  read(key: RunKey, fence: number, after: number): Promise<Pick<TailBatch, 'first' | 'last' | 'attempt' | 'events'>[]>
  remove(key: RunKey): Promise<void>
  /** Removes those of runs that have ended, or belong to another process by now. */
  sweep(): Promise<void>
}

export interface TailBatch extends RunKey {
  fence: number
  /** Numbers of its events. */
  first: number
  last: number
  attempt: Attempt
  events: CompactLog['events']
}

/** Where a process began with a run. */
export interface Attempt {
  /** Events that were told before, and hold. */
  restored: number
  /** As `EventLog.restoredAt`. */
  restoredAt: number | undefined
}
