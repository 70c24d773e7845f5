import type { TextLabel } from '../../agent/events.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { LoggedEvent } from '../run.ts'
import type { TraceRecord } from '../trace/records.ts'

/** The stored form of a run's log. Consecutive text events with the same label are merged into one text plus the lengths of the pieces. */
export interface CompactLog {
  /** Text of the human message. */
  input: string
  events: (CompactText | Exclude<LoggedEvent, { type: 'text' }>)[]
  /** `EventLog.restoredAt`. */
  restoredAt?: number
  /** `ChatRequest.callbackLinks`. */
  callbackLinks?: boolean
  /** `ChatRequest.echo`. */
  echo?: JsonObject
  /** Present in the log of an ended run whose answer has a schema. */
  hasSchema?: true
  /** Absent in logs of earlier versions, and for a run that was never executed. */
  trace?: TraceRecord[]
}

interface CompactText {
  type: 'texts'
  label: TextLabel
  text: string
  lengths: number[]
}

export function toCompact(events: readonly LoggedEvent[]): CompactLog['events'] {
  const compact: CompactLog['events'] = []
  for (const event of events) {
    switch (event.type) {
      case 'text': {
        const last = compact.at(-1)
        if (last?.type === 'texts' && last.label === event.label) {
          last.text += event.text
          last.lengths.push(event.text.length)
        } else compact.push({ type: 'texts', label: event.label, text: event.text, lengths: [event.text.length] })
        break
      }
      case 'retrying':
      case 'step_start':
      case 'step_end':
      case 'interrupt':
      case 'end':
        compact.push(event)
    }
  }
  return compact
}

/** The inverse of `toCompact`: equal events with equal numbers. */
export function fromCompact(compact: CompactLog['events']): LoggedEvent[] {
  const events: LoggedEvent[] = []
  for (const event of compact) {
    if (event.type !== 'texts') events.push(event)
    else {
      let at = 0
      for (const length of event.lengths) events.push({ type: 'text', label: event.label, text: event.text.slice(at, (at += length)) })
    }
  }
  return events
}
