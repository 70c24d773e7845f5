import type { TextLabel } from '../../agent/events.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { LoggedEvent } from '../run.ts'
import type { TraceRecord } from '../trace/recorder.ts'

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
  let pieces: string[] = []
  for (const event of events) {
    const last = compact.at(-1)
    switch (event.type) {
      case 'text':
        if (last?.type === 'texts' && last.label === event.label) {
          pieces.push(event.text)
          last.lengths.push(event.text.length)
        } else {
          completeText(last, pieces)
          pieces = [event.text]
          compact.push({ type: 'texts', label: event.label, text: '', lengths: [event.text.length] })
        }
        break
      case 'retrying':
      case 'step_start':
      case 'step_end':
      case 'interrupt':
      case 'end':
        completeText(last, pieces)
        compact.push(event)
    }
  }
  completeText(compact.at(-1), pieces)
  return compact
}

/** The pieces are joined at once: a concatenation would keep each of them. */
function completeText(last: CompactLog['events'][number] | undefined, pieces: readonly string[]): void {
  if (last?.type === 'texts') last.text = pieces.join('')
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
