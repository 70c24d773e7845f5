import { toCompact } from '../../log/compact-log.ts'
import type { LiveRun } from '../live-run.ts'
import { isLastEvent, type LoggedEvent } from '../../run.ts'
import type { TailBatch } from './tail-store.ts'

/** A reader says that it is there every few seconds; one that has not for so long is gone. */
const readerLastsMs = 10_000
/** What is written waits for the fastest of its readers when it is further ahead of it than this. */
const maxAheadCharacters = 1024 * 1024
/** Events of one row, about. */
const maxBatchCharacters = 256 * 1024
/** Who has not seen by then what was written for it will not see it any more. */
const seenWithinMs = 2000

/** What a reader on another replica has of a run; `fence` is that of the process that told it so. */
export interface ReadUpTo {
  fence: number
  after: number
}

interface RemoteReader {
  /** Number of the last event that it has, as far as it has said. */
  at: number
  detach(): void
  lapse: NodeJS.Timeout
}

interface Range {
  /** Numbers behind `from`, up to `to`. */
  from: number
  to: number
}

/** What is to be written of a run for its readers on other replicas. They count as its readers for as long as they say so. */
export class Tail {
  readonly run: LiveRun
  private readonly wake: () => void
  private readonly readers = new Map<string, RemoteReader>()
  private readonly closing = new AbortController()
  /** What readers may find by now, or soon. */
  private covered: Range | undefined
  private unwritten: Range[] = []
  private writtenAt = 0
  private room: (() => void) | undefined

  /** `wake` is called when there is something to take. */
  constructor(run: LiveRun, wake: () => void) {
    this.run = run
    this.wake = wake
  }

  hear(reader: string, has: ReadUpTo): void {
    const known = this.readers.get(reader)
    clearTimeout(known?.lapse)
    const at = this.placeOf(has)
    const lapse = setTimeout(() => this.leave(reader), readerLastsMs).unref()
    this.readers.set(reader, { at, detach: known?.detach ?? this.run.attach(), lapse })
    this.covered ??= { from: at, to: at }
    const { from, to } = this.covered
    if (at < from) this.add({ from: at, to: from })
    else if (at < to && known?.at === at && performance.now() - this.writtenAt > seenWithinMs) this.add({ from: at, to })
    this.releaseWriter()
  }

  leave(reader: string): void {
    const known = this.readers.get(reader)
    if (!known) return
    clearTimeout(known.lapse)
    known.detach()
    this.readers.delete(reader)
    if (this.readers.size === 0) this.closing.abort()
    this.releaseWriter()
  }

  close(): void {
    for (const reader of this.readers.keys()) this.leave(reader)
    this.closing.abort()
  }

  /** Resolves when the run has ended, or nobody reads any more. The end itself is not written: the run is kept with it. */
  async follow(): Promise<void> {
    const { log } = this.run
    for await (const { first, events } of log.follow(0, this.closing.signal)) {
      const isEnd = log.ended && isLastEvent(events.at(-1))
      const { to } = this.covered ?? { to: 0 }
      this.add({ from: to, to: first - 1 + events.length - (isEnd ? 1 : 0) })
      await this.waitForReaders()
    }
  }

  /** What there is to write, once. */
  take(): TailBatch[] {
    this.writtenAt = performance.now()
    return this.unwritten.splice(0).flatMap((range) => this.toBatches(range))
  }

  /** It could not be written. */
  requeue(batches: readonly TailBatch[]): void {
    this.unwritten.unshift(...batches.map(({ first, last }) => ({ from: first - 1, to: last })))
  }

  /** What this process has of the run's earlier ones is the same; what came behind it is not. */
  private placeOf({ fence, after }: ReadUpTo): number {
    return fence === this.run.fence ? after : Math.min(after, this.run.log.restored)
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
    while (!this.closing.signal.aborted && this.ahead() > maxAheadCharacters) await new Promise<void>((resolve) => (this.room = resolve))
  }

  private releaseWriter(): void {
    this.room?.()
    this.room = undefined
  }

  private ahead(): number {
    let fastest = 0
    for (const { at } of this.readers.values()) fastest = Math.max(fastest, at)
    return this.run.log.charactersTo(this.covered?.to ?? 0) - this.run.log.charactersTo(fastest)
  }
}
