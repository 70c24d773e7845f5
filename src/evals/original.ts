import type { Step, StepStart } from '../agent/events.ts'
import { toStableJson } from '../configuration/parse.ts'
import { fromCompact, type CompactLog } from '../runs/log/compact-log.ts'
import type { LoggedEvent } from '../runs/run.ts'
import type { Original, OriginalEvent, RecordedCall } from './example.ts'

type CompactEvent = CompactLog['events'][number]

/** Replaces the steps of calls by the numbers of the calls. A step that the call does not say whole stays. */
export function toOriginal(session: string, events: CompactLog['events'], recording: readonly RecordedCall[]): Original {
  const calls = new Map(recording.flatMap((call) => (call.step ? [[call.step.id, call] as const] : [])))
  const shortened = events.map((event): OriginalEvent => {
    if (event.type !== 'step_start' && event.type !== 'step_end') return event
    const call = calls.get(event.step.id)
    const rebuilt = call && toStepEvent(event.type, call)
    return call && toStableJson(rebuilt) === toStableJson(event)
      ? { type: event.type === 'step_start' ? 'call_start' : 'call_end', n: call.n }
      : event
  })
  return { session, events: shortened }
}

/** The inverse of `toOriginal`: the numbered events of the recorded run. */
export function originalEvents({ events }: Original, recording: readonly RecordedCall[]): LoggedEvent[] {
  const calls = new Map(recording.map((call) => [call.n, call]))
  return fromCompact(
    events.map((event): CompactEvent => {
      if (!('n' in event)) return event
      return toStepEvent(event.type === 'call_start' ? 'step_start' : 'step_end', calls.get(event.n)!)
    }),
  )
}

function toStepEvent(type: 'step_start' | 'step_end', call: RecordedCall): CompactEvent {
  const { tool, tool_input: requested, output, status, effect, decision, artifacts, step } = call
  if (!step) throw new Error(`The recorded call ${call.n} has no step.`)
  const { id, type: kind, startedAt, subAgent, containment, log, durationMs } = step
  const start: StepStart = {
    id,
    type: kind,
    tool,
    input: decision?.input ?? requested,
    startedAt,
    ...(subAgent === undefined ? {} : { subAgent }),
    ...(effect === 'write' ? { effect } : {}),
    ...(containment ? { containment } : {}),
  }
  if (type === 'step_start') return { type, step: start }
  const end: Step = {
    ...start,
    log,
    output,
    status: status === 'success' ? 'success' : 'error',
    durationMs,
    ...(artifacts && { artifacts }),
  }
  return { type, step: end }
}
