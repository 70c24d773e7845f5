import type { EventLog } from '../log/event-log.ts'
import type { ObservedRun } from '../ownership/remote/remote-runs.ts'
import { runKeyText, type LoggedEvent } from '../run.ts'
import type { StoredRun } from '../run-store.ts'

export interface ObservedRuns {
  /** The events so far of a run that another process executes; at least the stored events. */
  eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]>
}

/** A viewer asks again every few seconds: the copy of the log is kept in between. */
const idleMs = 10_000
/** How long the first answer waits for the events of the other process. */
const firstWaitMs = 300

/** Copies the logs of runs of other processes while somebody looks at their traces. */
export function createObservedRuns(observe: (run: StoredRun) => ObservedRun): ObservedRuns {
  const copies = new Map<string, { copy: ObservedRun; idle: NodeJS.Timeout }>()

  function open(name: string, run: StoredRun): ObservedRun {
    const copy = observe(run)
    copies.set(name, { copy, idle: setTimeout(() => close(name), idleMs).unref() })
    return copy
  }

  function close(name: string): void {
    const entry = copies.get(name)
    copies.delete(name)
    clearTimeout(entry?.idle)
    entry?.copy.close()
  }

  async function eventsOf(run: StoredRun, storedEvents: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const name = runKeyText(run)
    const entry = copies.get(name)
    entry?.idle.refresh()
    const { log } = entry?.copy ?? open(name, run)
    if (!entry) await firstEvents(log)
    // The run has ended in the meantime: the next look at the store finds its end.
    if (log.ended) close(name)
    return log.ended || log.events.length < storedEvents.length ? storedEvents : log.events.slice()
  }

  return { eventsOf }
}

async function firstEvents(log: EventLog): Promise<void> {
  const reading = log.follow(0, AbortSignal.timeout(firstWaitMs))
  await reading.next()
  // A reader that stays would hold back the copy.
  await reading.return()
}
