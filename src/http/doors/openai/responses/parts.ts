import type { OpenRun } from '../../../../runs/open-run.ts'
import { upToEvent, type RunPart } from '../../../../runs/parts.ts'
import type { InterruptEvent, LoggedEvent, RunStatus } from '../../../../runs/run.ts'

/** True for an interruption with calls of client tools: a new request answers the calls, and its response is the next part of the run. */
export function isPartEnd(event: LoggedEvent): event is InterruptEvent {
  return event.type === 'interrupt' && event.calls.some(({ by }) => by === 'client')
}

/** Number of events of the run up to the end of a part; undefined where the part has not ended with calls of client tools. */
export function endOfPart(events: readonly LoggedEvent[], part: number): number | undefined {
  let parts = 0
  const index = events.findIndex((event) => isPartEnd(event) && ++parts === part)
  return index < 0 ? undefined : index + 1
}

/** Number of parts that have begun, where the last call has been answered: a part begins with the end of the part before. */
export function countParts(events: readonly LoggedEvent[]): number {
  return events.filter(isPartEnd).length + 1
}

/** A part of a stored run. While other calls than those of the client wait, the part shows the interruption before it. */
export function partOf(events: readonly LoggedEvent[], part: number, status: RunStatus): RunPart {
  const before = events.slice(0, part === 1 ? 0 : endOfPart(events, part - 1))
  const last = before.at(-1)
  const waits = status === 'interrupted' && before.length === events.length && last?.type === 'interrupt'
  return { before, open: waits ? last.calls.filter(({ by }) => by !== 'client') : [] }
}

/** The run up to the end of a part. A part that goes on is followed live. */
export function upToPart(run: OpenRun, part: number): OpenRun {
  const end = endOfPart(run.log.events.slice(), part)
  return end === undefined ? run : upToEvent(run, end)
}
