import { fromCompact } from './compact-log.ts'
import { EventLog } from './event-log.ts'
import { hasSchema, type OpenRun } from '../open-run.ts'
import { endWithoutSession } from './outcome.ts'
import type { StoredRun } from '../run-store.ts'

/** An ended run, read from the stored row. A run that left the session queue has no log; readers get the error `session_busy`. */
export function replay(run: StoredRun): OpenRun {
  const { requestId, sessionId, log: stored } = run
  const events = stored ? fromCompact(stored.events) : [endWithoutSession]
  const log = new EventLog({ events, restoredAt: stored?.restoredAt })
  return { requestId, sessionId, input: stored?.input ?? '', hasSchema: hasSchema(run), log, ended: Promise.resolve() }
}
