import type { LoggedEvent } from '../run.ts'

/** A run waits for its readers when it is further than this ahead of the fastest. */
const maxAheadCharacters = 1024 * 1024

/** Events with the number of the first. */
export interface Batch {
  first: number
  events: LoggedEvent[]
}

interface Reader {
  /** Number of the last event taken. */
  at: number
  /** What it has taken behind `at` was taken back. */
  isBeyond: boolean
  wake: (() => void) | undefined
}

/**
 * The numbered events of one run, from 1 without a gap; any number of readers, each at its own place. Ends with the one `end` event, or with
 * an `interrupt` behind which the run has not gone on.
 */
export class EventLog {
  readonly events: LoggedEvent[] = []
  /** Where a run goes on that a process has left: numbers behind it may have been given twice. */
  restoredAt: number | undefined
  private readonly readers = new Set<Reader>()
  /** Events that were there before the run went on here. */
  restored = 0
  /** Characters up to each event, to tell how far ahead of its readers the run is. */
  private readonly characters: number[] = [0]
  private suspensions = 0
  private waking = false
  private resumeWriter: (() => void) | undefined

  constructor(restored: { events: LoggedEvent[]; restoredAt?: number | undefined } = { events: [] }) {
    for (const event of restored.events) this.push(event)
    this.restoredAt = restored.restoredAt
  }

  /** Takes up what is stored of the run; the log must be empty. `restoredAt`: where that is not all that readers may have seen. */
  restore(events: readonly LoggedEvent[], restoredAt: number | undefined): void {
    this.restoredAt = restoredAt
    this.restored = events.length
    for (const event of events) this.append(event)
  }

  /** The run goes on elsewhere, from another place: what was told behind event `restored` was of an attempt that is lost. */
  beginAgain(restored: number, restoredAt: number | undefined): void {
    this.restored = restored
    this.restoredAt = restoredAt
    if (this.events.length <= restored) return
    this.events.length = restored
    this.characters.length = restored + 1
    for (const reader of this.readers) {
      if (reader.at <= restored) continue
      reader.at = restored
      reader.isBeyond = true
    }
    this.wakeReaders()
    this.releaseWriter()
  }

  /** How much the events up to this number are, about. */
  charactersTo(number: number): number {
    return this.characters[Math.min(number, this.events.length)]!
  }

  get ended(): boolean {
    return this.events.at(-1)?.type === 'end' || this.interrupted
  }

  /** Whether calls wait for approval here. */
  get interrupted(): boolean {
    return this.events.at(-1)?.type === 'interrupt' && this.events.length > this.restored
  }

  append(event: LoggedEvent): void {
    this.push(event)
    if (this.waking || this.readers.size === 0) return
    // The first is waited for; of the others, what arrives in one turn of the event loop is written together.
    if (this.events.length === 1) return this.wakeReaders()
    this.waking = true
    setImmediate(() => this.wakeReaders())
  }

  /** Resolves when the fastest reader is near enough, or the run is stopped; undefined when it is near, or when nobody reads. */
  waitForReaders(stopped?: AbortSignal): Promise<void> | undefined {
    if (this.readers.size === 0 || this.suspensions > 0 || stopped?.aborted || this.ahead() <= maxAheadCharacters) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const goOn = () => {
      stopped?.removeEventListener('abort', goOn)
      resolve()
    }
    this.resumeWriter = goOn
    stopped?.addEventListener('abort', goOn)
    return promise
  }

  /** Somebody waits for the whole: as long as they do, the run waits for no reader. The returned function says that they left. */
  suspendBackpressure(): () => void {
    this.suspensions++
    this.releaseWriter()
    return () => void this.suspensions--
  }

  /**
   * Batches of events behind number `after`, as they come; ends behind the last event, or when `signal` is aborted.
   * A reader that was further than the place from which a lost run goes on is told that the answer begins anew.
   */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    const reader: Reader = { at: after, isBeyond: false, wake: undefined }
    const leave = () => reader.wake?.()
    this.readers.add(reader)
    // One that joins at the end is ahead of those the run waits for.
    this.releaseWriter()
    signal.addEventListener('abort', leave)
    try {
      while (!signal.aborted) {
        const beyond = this.placeBefore(after)
        if (beyond !== undefined) {
          // Once: what follows has numbers of this attempt.
          after = reader.at = beyond
          reader.isBeyond = false
          yield { first: beyond, events: [{ type: 'retrying' }] }
        } else if (reader.isBeyond) {
          reader.isBeyond = false
          yield { first: reader.at, events: [{ type: 'retrying' }] }
        } else if (this.events.length > reader.at) {
          const batch = { first: reader.at + 1, events: this.events.slice(reader.at) }
          reader.at = this.events.length
          this.releaseWriter()
          yield batch
        } else if (this.ended) return
        else await new Promise<void>((resolve) => (reader.wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', leave)
      this.readers.delete(reader)
      this.releaseWriter()
    }
  }

  /** Where a reader goes back to whose number is not of this attempt: behind the place from which it went on, or behind the end. */
  private placeBefore(after: number): number | undefined {
    if (this.restoredAt !== undefined && after > this.restoredAt) return this.restoredAt
    return this.ended && after > this.events.length ? 0 : undefined
  }

  private push(event: LoggedEvent): void {
    this.events.push(event)
    this.characters.push(this.characters.at(-1)! + sizeOf(event))
  }

  private ahead(): number {
    let fastest = 0
    for (const reader of this.readers) fastest = Math.max(fastest, reader.at)
    return this.characters.at(-1)! - this.charactersTo(fastest)
  }

  private wakeReaders(): void {
    this.waking = false
    for (const reader of this.readers) reader.wake?.()
  }

  private releaseWriter(): void {
    if (!this.resumeWriter || (this.suspensions === 0 && this.readers.size > 0 && this.ahead() > maxAheadCharacters)) return
    this.resumeWriter()
    this.resumeWriter = undefined
  }
}

/** Text is nearly all of a stream; a step counts as what it usually is. */
function sizeOf(event: LoggedEvent): number {
  return event.type === 'text' ? event.text.length : 1000
}
