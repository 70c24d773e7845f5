import { toCompact, type CompactLog } from '../../log/compact-log.ts'
import type { LiveRun } from '../live-run.ts'
import type { LoggedEvent, RunKey } from '../../run.ts'
import { isLastEvent, logStart } from '../../log/event-log.ts'

/** Port: the events so far of runs that have readers on other replicas. The end event is stored with the run, not here. */
export interface TailStore {
  /** Adds batches of runs of one tenant. A batch that exists is not changed. */
  append(tenant: string, batches: readonly TailBatch[]): Promise<void>
  /** Batches with events after number `after`, in order; only the first batches where there are many. */
  read(key: RunKey, fence: number, after: number): Promise<Pick<TailBatch, 'first' | 'last' | 'attempt' | 'events'>[]>
  remove(key: RunKey): Promise<void>
  /** Removes the batches of runs that have ended or have another fence. */
  sweep(): Promise<void>
}

export interface TailBatch extends RunKey {
  fence: number
  /** Numbers of the first and last event. */
  first: number
  last: number
  attempt: Attempt
  events: CompactLog['events']
}

/** Time until a reader without a new position is removed. Readers publish a position every few seconds. */
const readerExpiryMs = 10_000

/** Writing pauses while the tail is further ahead of its fastest reader than this. */
const maxAheadCharacters = 1024 * 1024

/** Approximate size of the events of one row. */
const maxBatchCharacters = 256 * 1024

/** A reader that has not advanced within this time after a write has missed the written events. */
const missedAfterMs = 2000

/** How far a reader on another replica has read. */
export interface ReadPosition {
  /** Fence under which the events were produced. */
  fence: number
  /** Number of the last event. */
  after: number
  /** True for a reader that does not keep the run from ending without readers. */
  isObserver?: true
}

interface RemoteReader {
  /** Number of the last event that the reader has acknowledged. */
  position: number
  detach(): void
  expiry: NodeJS.Timeout
}

interface Range {
  /** Event numbers after `from`, up to and including `to`. */
  from: number
  to: number
}

/** Events of a local run that are to be written for readers on other replicas. Each reader counts as a reader of the run until removed. */
export class Tail {
  readonly run: LiveRun
  private readonly wake: () => void
  private readonly readers = new Map<string, RemoteReader>()
  private readonly closing = new AbortController()
  /** Events that are written or about to be written. */
  private covered: Range | undefined
  private unwritten: Range[] = []
  private writtenAt = 0
  private resumeWriter: (() => void) | undefined

  /** `wake` is called when there are unwritten events. */
  constructor(run: LiveRun, wake: () => void) {
    this.run = run
    this.wake = wake
  }

  addReader(reader: string, readPosition: ReadPosition): void {
    const earlier = this.readers.get(reader)
    clearTimeout(earlier?.expiry)
    const position = this.positionOf(readPosition)
    const expiry = setTimeout(() => this.removeReader(reader), readerExpiryMs).unref()
    this.readers.set(reader, {
      position,
      detach: earlier?.detach ?? (readPosition.isObserver ? () => undefined : this.run.attach()),
      expiry,
    })
    this.covered ??= { from: position, to: position }
    const { from, to } = this.covered
    if (position < from) this.add({ from: position, to: from })
    else if (position < to && earlier?.position === position && performance.now() - this.writtenAt > missedAfterMs)
      this.add({ from: position, to })
    this.releaseWriter()
  }

  removeReader(reader: string): void {
    const removed = this.readers.get(reader)
    if (!removed) return
    clearTimeout(removed.expiry)
    removed.detach()
    this.readers.delete(reader)
    if (this.readers.size === 0) this.closing.abort()
    this.releaseWriter()
  }

  close(): void {
    for (const reader of this.readers.keys()) this.removeReader(reader)
    this.closing.abort()
  }

  /** Resolves when the run has ended or no reader is left. The end event is not written: readers find it with the stored run. */
  async follow(): Promise<void> {
    const { log } = this.run
    for await (const { first, events } of log.follow(logStart, this.closing.signal)) {
      const isEnd = log.isComplete && isLastEvent(events.at(-1))
      const { to } = this.covered ?? { to: 0 }
      this.add({ from: to, to: first - 1 + events.length - (isEnd ? 1 : 0) })
      await this.waitForReaders()
    }
  }

  /** Removes and returns the unwritten events. */
  take(): TailBatch[] {
    this.writtenAt = performance.now()
    return this.unwritten.splice(0).flatMap((range) => this.toBatches(range))
  }

  /** Puts events back that could not be written. */
  requeue(batches: readonly TailBatch[]): void {
    this.unwritten.unshift(...batches.map(({ first, last }) => ({ from: first - 1, to: last })))
  }

  /** Events that the run has in common with the attempt of the reader count; later events of another fence do not. */
  private positionOf({ fence, after }: ReadPosition): number {
    const { run } = this
    return fence === run.fence ? after : Math.min(after, countCommon(run.log, fence, run.fence))
  }

  private add(range: Range): void {
    if (range.to <= range.from) return
    const last = this.unwritten.at(-1)
    if (last?.to === range.from) last.to = range.to
    else this.unwritten.push(range)
    const { from, to } = this.covered ?? range
    this.covered = { from: Math.min(from, range.from), to: Math.max(to, range.to) }
    this.wake()
  }

  private toBatches({ from, to }: Range): TailBatch[] {
    const { key, fence, log } = this.run
    const { restored, restoredAt } = log
    const batches: TailBatch[] = []
    for (let first = from + 1; first <= to;) {
      let last = first
      while (last < to && log.charactersTo(last + 1) - log.charactersTo(first - 1) <= maxBatchCharacters) last++
      const events: LoggedEvent[] = log.events.slice(first - 1, last)
      batches.push({ ...key, fence, first, last, attempt: { restored, restoredAt }, events: toCompact(events) })
      first = last + 1
    }
    return batches
  }

  private async waitForReaders(): Promise<void> {
    while (!this.closing.signal.aborted && this.ahead() > maxAheadCharacters)
      await new Promise<void>((resolve) => (this.resumeWriter = resolve))
  }

  private releaseWriter(): void {
    this.resumeWriter?.()
    this.resumeWriter = undefined
  }

  private ahead(): number {
    let fastest = 0
    for (const { position } of this.readers.values()) fastest = Math.max(fastest, position)
    return this.run.log.charactersTo(this.covered?.to ?? 0) - this.run.log.charactersTo(fastest)
  }
}

/** The position from which a process continued a run. */
export interface Attempt {
  /** Number of events that were restored from checkpoints. */
  restored: number
  /** As `EventLog.restoredAt`. */
  restoredAt: number | undefined
}

/**
 * Number of events that an attempt, which runs under the fence `to`, has in common with an earlier attempt under the fence `from`. Where
 * attempts in between are unknown, the events after `restoredAt` may be theirs.
 */
export function countCommon({ restored, restoredAt = restored }: Attempt, from: number, to: number): number {
  return from === to - 1 ? restored : Math.min(restored, restoredAt)
}
