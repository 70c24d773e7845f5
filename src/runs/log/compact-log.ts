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
      case 'user_message':
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

/** Events of a pack. Smaller packs take more memory, larger ones more time for a reader that is behind. */
const eventsPerPack = 16
/** Events that stay uncompacted, for readers that keep up: the last four at least. */
const maxRecent = 20

interface Pack {
  events: CompactLog['events']
  /** Characters of the events before the pack. */
  charactersBefore: number
}

/**
 * The events of a log in order. Older events are packed: the texts of tokens are one string, which takes a fifth of the memory of an object for
 * each token. A read makes equal events again, with the same positions.
 */
export class EventList implements Iterable<LoggedEvent> {
  private readonly packs: Pack[] = []
  private recent: LoggedEvent[] = []
  private packedLength = 0
  private packedCharacters = 0
  private recentCharacters = 0

  get length(): number {
    return this.packedLength + this.recent.length
  }

  /** Approximate number of characters in the first `count` events. */
  charactersTo(count: number): number {
    const { packedLength, packs, recent } = this
    if (count < packedLength) {
      const pack = packs[Math.floor(count / eventsPerPack)]!
      return pack.charactersBefore + sizeOfAll(fromCompact(pack.events).slice(0, count % eventsPerPack))
    }
    return this.packedCharacters + this.recentCharacters - sizeOfAll(recent.slice(count - packedLength))
  }

  push(event: LoggedEvent): void {
    this.recent.push(event)
    this.recentCharacters += sizeOf(event)
    if (this.recent.length > maxRecent) this.pack()
  }

  /** The event at an index; a negative index counts from the end. */
  at(index: number): LoggedEvent | undefined {
    const position = index < 0 ? this.length + index : index
    const { packedLength } = this
    return position >= packedLength ? this.recent[position - packedLength] : this.slice(position, position + 1)[0]
  }

  /** The events from index `from` up to, but not including, index `to`. */
  slice(from = 0, to: number = this.length): LoggedEvent[] {
    const { packedLength, packs, recent } = this
    if (from >= packedLength) return recent.slice(from - packedLength, Math.max(0, to - packedLength))
    const firstPack = Math.floor(from / eventsPerPack)
    const packed = packs.slice(firstPack, Math.ceil(to / eventsPerPack)).flatMap(({ events }) => fromCompact(events))
    const start = firstPack * eventsPerPack
    return [...packed, ...recent.slice(0, Math.max(0, to - packedLength))].slice(from - start, Math.max(0, to - start))
  }

  [Symbol.iterator](): ArrayIterator<LoggedEvent> {
    return this.slice()[Symbol.iterator]()
  }

  /** Drops the events after the first `length`. */
  truncate(length: number): void {
    const wholePacks = Math.min(this.packs.length, Math.floor(length / eventsPerPack))
    const recent = this.slice(wholePacks * eventsPerPack, length)
    this.packedCharacters = this.packs[wholePacks]?.charactersBefore ?? this.packedCharacters
    this.packs.length = wholePacks
    this.packedLength = wholePacks * eventsPerPack
    this.recent = recent
    this.recentCharacters = sizeOfAll(recent)
  }

  private pack(): void {
    const events = this.recent.splice(0, eventsPerPack)
    const characters = sizeOfAll(events)
    this.packs.push({ events: toCompact(events), charactersBefore: this.packedCharacters })
    this.packedLength += eventsPerPack
    this.packedCharacters += characters
    this.recentCharacters -= characters
  }
}

function sizeOfAll(events: readonly LoggedEvent[]): number {
  return events.reduce((sum, event) => sum + sizeOf(event), 0)
}

/** Approximate size in characters: the length of a text, a typical size for every other event. */
function sizeOf(event: LoggedEvent): number {
  return event.type === 'text' ? event.text.length : 1000
}
