import { fromCompact } from './compact-log.ts'
import { EventLog } from './event-log.ts'
import type { OpenRun } from '../open-run.ts'
import { gaveUpWaiting } from './outcome.ts'
import type { StoredRun } from '../run-store.ts'

/** A run from its row. One that left its line has no log; what its readers get is why it has none. */
export function replay({ requestId, sessionId, log: stored }: StoredRun): OpenRun {
  const events = stored ? fromCompact(stored.events) : [gaveUpWaiting]
  const log = new EventLog({ events, restoredAt: stored?.restoredAt })
  return { requestId, sessionId, input: stored?.input ?? '', log, ended: Promise.resolve() }
}
