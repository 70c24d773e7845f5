import { ServiceError, toErrorBody } from '../../../errors.ts'
import type { Bus } from '../../../replicas/bus.ts'
import { fromCompact } from '../../log/compact-log.ts'
import { EventLog } from '../../log/event-log.ts'
import type { LiveRun } from '../live-run.ts'
import type { RunRegistry } from '../registry.ts'
import { endWithoutSession } from '../../log/outcome.ts'
import type { LoggedEvent, RunKey } from '../../run.ts'
import type { HeldRun, RunStore, StoredRun } from '../../run-store.ts'
import type { Attempt, TailStore } from './tail-store.ts'

export interface RemoteRunDependencies {
  store: Pick<RunStore, 'find'>
  registry: Pick<RunRegistry, 'find' | 'waitForChange'>
  /** Absent where this process shares its runs with nobody. */
  tails?: Pick<TailStore, 'read'> | undefined
  bus: Bus
  newId(): string
}

/** Who has the run is told so often that it is read here, and how far; at least. */
const tellEveryMs = 3000
const tellEveryCharacters = 256 * 1024
/** What is heard is looked at at once. News may get lost: where nothing is heard, soon, then ever later. */
const firstLookMs = 100
const lastLookMs = 2000

/** A run that another process has, or nobody yet, as it is read here: what is told there comes into a log here, with the same numbers. */
export class RemoteRun {
  readonly key: RunKey
  readonly log: EventLog
  /** Resolves when its last event is in the log. */
  readonly ended: Promise<void>
  private readonly deps: RemoteRunDependencies
  private readonly reader: string
  private readonly closing = new AbortController()
  /** Of the process that told the events in the log; 0 for none. */
  private fence: number
  /** Of the process that has the run, as far as it is known. */
  private newest: number
  private isReadable = false
  private hasMoved = false
  private ring: (() => void) | undefined
  private told = { at: -Infinity, characters: 0 }

  /** `has`: a log with events that were told by who had the run with this fence. */
  constructor(
    { tenant, owner, requestId, fence }: HeldRun,
    deps: RemoteRunDependencies,
    has: { log: EventLog; fence: number } = { log: new EventLog(), fence: 0 },
  ) {
    this.key = { tenant, owner, requestId }
    this.newest = fence
    this.log = has.log
    this.fence = has.fence
    this.deps = deps
    this.reader = deps.newId()
    this.ended = this.follow()
  }

  onReadable(fence: number): void {
    if (fence === this.newest) this.isReadable = true
    else this.hasMoved = true
    this.ring?.()
  }

  onMoved(): void {
    this.hasMoved = true
    this.ring?.()
  }

  /** Nobody reads it here any more, or nobody can. */
  close(reason: ServiceError): void {
    if (this.log.ended) return
    this.closing.abort()
    this.deps.bus.publish('unread', { ...this.key, reader: this.reader })
    this.endAs(reason)
  }

  private async follow(): Promise<void> {
    let lookMs = firstLookMs
    while (!this.log.ended) {
      this.tell()
      await this.something(lookMs)
      lookMs = this.hasMoved ? firstLookMs : this.isReadable ? lastLookMs : Math.min(2 * lookMs, lastLookMs)
      try {
        if (!this.isReadable || this.hasMoved) await this.look()
        this.isReadable = false
        while (await this.take());
      } catch (error) {
        if (isFinal(error)) this.endAs(error)
        // The store is away: who reads waits for it, as the run does.
        else lookMs = lastLookMs
      }
    }
  }

  private async something(ms: number): Promise<void> {
    if (this.isReadable || this.hasMoved) return
    const heard = new AbortController()
    this.ring = () => heard.abort()
    await this.deps.registry.waitForChange(this.key, ms, AbortSignal.any([heard.signal, this.closing.signal]))
    this.ring = undefined
  }

  private tell(): void {
    const characters = this.log.charactersTo(Infinity)
    const isDue = performance.now() - this.told.at >= tellEveryMs || characters - this.told.characters >= tellEveryCharacters
    // As long as nothing came of it, it may not have been heard.
    if (!isDue && this.fence === this.newest) return
    this.told = { at: performance.now(), characters }
    this.deps.bus.publish('read', { ...this.key, reader: this.reader, fence: this.fence, after: this.log.events.length })
  }

  /** Where the run is by now. */
  private async look(): Promise<void> {
    this.hasMoved = false
    const local = this.deps.registry.find(this.key)
    if (local) return this.mirror(local)
    const stored = await this.deps.store.find(this.key)
    if (!stored) throw leftLine()
    this.newest = stored.fence
    if (stored.endedAt !== undefined || stored.status === 'interrupted') this.end(stored)
  }

  /** Takes what is written behind what is here; false when there is nothing. */
  private async take(): Promise<boolean> {
    const { log, newest } = this
    if (log.ended || !this.deps.tails) return false
    const batches = await this.deps.tails.read(this.key, newest, this.fence === newest ? log.events.length : 0)
    let hasTaken = false
    for (const { first, last, attempt, events } of batches) {
      if (log.ended) return false
      this.begin(newest, attempt)
      const after = log.events.length
      // What is missing is asked for with the next word.
      if (first > after + 1) break
      if (last > after) hasTaken = true
      this.append(fromCompact(events).slice(after - first + 1))
      await log.waitForReaders(this.closing.signal)
    }
    return hasTaken
  }

  /** It has come to this process. */
  private async mirror(run: LiveRun): Promise<void> {
    const detach = run.attach()
    try {
      for await (const { first, events } of run.log.follow(0, this.closing.signal)) {
        this.newest = run.fence
        this.begin(run.fence, run.log)
        this.append(events.slice(Math.max(0, this.log.events.length - first + 1)))
        await this.log.waitForReaders(this.closing.signal)
      }
    } finally {
      detach()
    }
  }

  private end({ fence, log: stored }: StoredRun): void {
    const events = stored ? fromCompact(stored.events) : [endWithoutSession]
    const { restoredAt } = stored ?? {}
    const has = this.log.events.length
    // One that left its line ends without what was told before.
    const restored = has >= events.length ? 0 : Math.min(has, restoredAt ?? has)
    if (has >= events.length) this.fence = 0
    this.begin(fence, { restored, restoredAt })
    this.append(events.slice(this.log.events.length))
  }

  private begin(fence: number, { restored, restoredAt }: Attempt): void {
    if (this.fence === fence) return
    this.fence = fence
    this.log.rewind(restored, restoredAt)
  }

  private append(events: readonly LoggedEvent[]): void {
    if (this.log.ended) return
    for (const event of events) this.log.append(event)
  }

  private endAs(error: unknown): void {
    if (!this.log.ended) this.log.append({ type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(error) })
  }
}

function leftLine(): ServiceError {
  return new ServiceError('session_busy', 'The run did not get its session.', { retryAfter: 1 })
}

function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'gone' || error.code === 'session_busy')
}
