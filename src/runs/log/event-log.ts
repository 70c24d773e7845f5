import type { ProgressEvent } from '../../agent/events.ts'
import type { EndEvent, LastEvent, LoggedEvent } from '../run.ts'
import { reachState } from '../../states.ts'
import { EventList } from './compact-log.ts'

/** Back-pressure: limit of characters by which a run may be ahead of its fastest reader before the run waits. */
const maxAheadCharacters = 1024 * 1024

/** Consecutive events. `first` is the number of the first event. */
export interface EventBatch {
  first: number
  events: LoggedEvent[]
}

/** Receives the events of a log in batches, one batch for each turn of the event loop. */
export interface LogReader {
  /** Takes consecutive events. A promise is back-pressure: later events wait until the promise resolves. */
  batch(first: number, events: LoggedEvent[]): Promise<void> | undefined
  /** Called once: after the last event, at a fault of the log, when the signal is aborted, or with the failure of `batch`. */
  end(failure?: unknown): void
  /** Takes the progress of a call, when the reader has all events so far. Absent: the reader shows no progress. */
  progress?(event: ProgressEvent): void
}

/** What a reader has of a log. */
export interface LogPosition {
  /** Number of the last event that the reader has received. 0: none. */
  after: number
  /** True where no lost attempt had this event. */
  isValid: boolean
}

/** Of a reader without events. */
export const logStart: LogPosition = { after: 0, isValid: true }

interface Reader {
  /** Number of the last event taken. */
  at: number
  /** Where the reader has begun, or has started again. */
  began: LogPosition
  /** The reader has received events after `at` that a rewind has revoked; a `retrying` event must tell the reader so. */
  mustRetry: boolean
  wake(): void
  progress?: ((event: ProgressEvent) => void) | undefined
}

/**
 * The events of one run, numbered from 1 without gaps, for any number of independent readers. The log ends with the `end` event, or with an
 * `interrupt` event while the run waits for approval. A log also ends with a fault, where the local process cannot read on.
 */
export class EventLog {
  readonly events = new EventList()
  /**
   * The smallest number after which an attempt made events again that readers may know: number of the last event that the attempt took over
   * from a lost process. Undefined when no process was lost. A reader may know higher numbers from any of the lost attempts.
   */
  restoredAt: number | undefined
  /** How often events were dropped. */
  rewinds = 0
  private readers: readonly Reader[] = noReaders
  /** Number of events from before the current attempt. */
  restored = 0
  /** Why the local readers cannot read on, although the run has not ended. A fault is no event and has no number. */
  fault: EndEvent | undefined
  private suspensions = 0
  private waking = false
  private resumeWriter: (() => void) | undefined

  constructor(restored: { events: LoggedEvent[]; restoredAt?: number | undefined } = { events: [] }) {
    for (const event of restored.events) this.events.push(event)
    this.restoredAt = restored.restoredAt
  }

  /** Loads the stored events of the run; the log must be empty. `restoredAt` is set if readers may have seen further events. */
  restore(events: readonly LoggedEvent[], restoredAt: number | undefined): void {
    this.restoredAt = restoredAt
    this.restored = events.length
    for (const event of events) this.append(event)
  }

  /** Continues with an attempt of another process. Drops the events after number `valid`, which belong to a lost attempt. */
  rewind({ restored, restoredAt }: Pick<EventLog, 'restored' | 'restoredAt'>, valid: number): void {
    this.restored = restored
    this.restoredAt = restoredAt
    if (this.events.length <= valid) return
    this.rewinds++
    this.events.truncate(valid)
    for (const reader of this.readers) {
      if (reader.at <= valid) continue
      reader.at = valid
      reader.mustRetry = true
    }
    this.wakeReaders()
    this.releaseWriter()
  }

  /** Approximate number of characters in the events up to this number. */
  charactersTo(number: number): number {
    return this.events.charactersTo(number)
  }

  /** True if nothing follows for the local readers: the log is complete, or has a fault. */
  get ended(): boolean {
    return this.isComplete || this.fault !== undefined
  }

  /** True if the last event ends the log: the run has ended, or waits for approval. */
  get isComplete(): boolean {
    return this.events.at(-1)?.type === 'end' || this.interrupted
  }

  /** What ends the log for the local readers: the fault or the last event. Undefined while the log goes on. */
  get last(): LastEvent | undefined {
    const last = this.events.at(-1)
    return this.fault ?? (this.isComplete && isLastEvent(last) ? last : undefined)
  }

  /** The events, and the fault as the end. */
  get eventsAndFault(): readonly LoggedEvent[] {
    return this.fault ? [...this.events, this.fault] : this.events.slice()
  }

  /** True if the run waits for approval after its last event. An `interrupt` from before the current attempt does not count. */
  get interrupted(): boolean {
    return this.events.at(-1)?.type === 'interrupt' && this.events.length > this.restored
  }

  append(event: LoggedEvent): void {
    this.events.push(event)
    if (this.waking || this.readers.length === 0) return
    this.waking = true
    // Deliver the first event at once, for a short time to first byte. Batch later events per turn of the event loop.
    if (this.events.length === 1) queueMicrotask(this.wakeReaders)
    else setImmediate(this.wakeReaders)
  }

  /** Passes progress to the readers that have all events so far. Progress is no event: it has no number, and is kept nowhere. */
  report(event: ProgressEvent): void {
    // Events that are due are delivered first.
    if (this.waking) setImmediate(() => this.passProgress(event))
    else this.passProgress(event)
  }

  private passProgress(event: ProgressEvent): void {
    for (const { at, progress } of this.readers) if (at === this.events.length) progress?.(event)
  }

  /** Ends the log for the local readers, who may read on elsewhere after the last event that they have received. */
  fail(fault: EndEvent): void {
    if (this.ended) return
    this.fault = fault
    this.wakeReaders()
  }

  /**
   * Resolves when the fastest reader is within the limit or `stopped` is aborted. Returns undefined when there is no need to wait: the
   * reader is within the limit, there is no reader, or back-pressure is suspended.
   */
  waitForReaders(stopped?: AbortSignal): Promise<void> | undefined {
    if (this.readers.length === 0 || this.suspensions > 0 || stopped?.aborted || this.ahead() <= maxAheadCharacters) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const release = () => {
      stopped?.removeEventListener('abort', release)
      resolve()
    }
    this.resumeWriter = release
    stopped?.addEventListener('abort', release)
    return promise
  }

  /** Suspends back-pressure for a client that waits for the complete answer. The returned function ends the suspension. */
  suspendBackpressure(): () => void {
    this.suspensions++
    this.releaseWriter()
    return () => void this.suspensions--
  }

  /**
   * Passes the events behind a position to a reader until the last event, a fault, or the abort of `signal`. A reader that has received
   * events of a lost attempt first gets a `retrying` event: the answer starts again from there. Events that have arrived are passed at once.
   */
  subscribe(position: LogPosition, signal: AbortSignal, receiver: LogReader): void {
    let isBusy = false
    let isOver = false
    const finish = (failure?: unknown): void => {
      isOver = true
      signal.removeEventListener('abort', deliver)
      this.removeReader(reader)
      receiver.end(failure)
    }
    const deliver = (): void => {
      while (!isBusy && !isOver) {
        const next = signal.aborted ? undefined : this.nextBatch(reader)
        if (!next && !signal.aborted && !this.ended) return
        if (!next) return finish()
        try {
          const taken = receiver.batch(next.first, next.events)
          if (taken) isBusy = true
          taken?.then(() => {
            isBusy = false
            deliver()
          }, finish)
        } catch (error) {
          finish(error)
        }
      }
    }
    const reader = this.addReader(position, deliver)
    // A reader that is behind misses progress.
    reader.progress = receiver.progress && ((event) => void (isBusy || isOver || receiver.progress?.(event)))
    signal.addEventListener('abort', deliver)
    deliver()
  }

  /** Yields what `subscribe` passes to a reader, for readers that decide themselves when to read on. `progress`: see `LogReader`. */
  async *follow(position: LogPosition, signal: AbortSignal, progress?: LogReader['progress']): AsyncGenerator<EventBatch, void> {
    let wake: (() => void) | undefined
    const onChange = () => wake?.()
    const reader = this.addReader(position, onChange)
    reader.progress = progress
    signal.addEventListener('abort', onChange)
    try {
      while (!signal.aborted) {
        const next = this.nextBatch(reader)
        if (next) yield next
        else if (this.ended) return
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', onChange)
      this.removeReader(reader)
    }
  }

  private addReader(began: LogPosition, wake: () => void): Reader {
    const reader: Reader = { at: began.after, began, mustRetry: false, wake }
    this.readers = this.readers.concat(reader)
    // The new reader may be the fastest reader, so that the run need not wait any longer.
    this.releaseWriter()
    return reader
  }

  private removeReader(reader: Reader): void {
    this.readers = this.readers.length === 1 ? noReaders : this.readers.filter((other) => other !== reader)
    this.releaseWriter()
  }

  /** The events that a reader gets next; undefined for none. */
  private nextBatch(reader: Reader): EventBatch | undefined {
    const start = this.startOf(reader.began)
    if (start !== reader.began.after) {
      reachState('reader-restarted')
      // Later numbers belong to the current attempt, so the reader restarts only once.
      reader.began = { after: start, isValid: false }
      reader.at = start
      reader.mustRetry = false
      return { first: start, events: [{ type: 'retrying' }] }
    }
    if (reader.mustRetry) {
      reachState('reader-rewound')
      reader.mustRetry = false
      return { first: reader.at, events: [{ type: 'retrying' }] }
    }
    if (this.events.length <= reader.at) return undefined
    const batch = { first: reader.at + 1, events: this.events.slice(reader.at) }
    reader.at = this.events.length
    this.releaseWriter()
    return batch
  }

  /**
   * Number after which a reader is sent events: `after` itself, `restoredAt` where that event may be of a lost attempt, or 0 where the log has
   * ended before `after`.
   */
  startOf({ after, isValid }: LogPosition): number {
    if (!isValid && this.restoredAt !== undefined && after > this.restoredAt) return this.restoredAt
    return this.isComplete && after > this.events.length ? 0 : after
  }

  /** Characters that the fastest reader has not received yet. */
  private ahead(): number {
    let fastest = 0
    for (const reader of this.readers) fastest = Math.max(fastest, reader.at)
    return this.charactersTo(Infinity) - this.charactersTo(fastest)
  }

  private readonly wakeReaders = (): void => {
    this.waking = false
    for (const reader of this.readers) reader.wake()
  }

  private releaseWriter(): void {
    if (!this.resumeWriter || (this.suspensions === 0 && this.readers.length > 0 && this.ahead() > maxAheadCharacters)) return
    this.resumeWriter()
    this.resumeWriter = undefined
  }
}

/** Shared by all logs without a reader. */
const noReaders: readonly Reader[] = []

export function isLastEvent(event: LoggedEvent | undefined): event is LastEvent {
  return event?.type === 'end' || event?.type === 'interrupt'
}
