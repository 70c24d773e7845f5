import { ServiceError } from '../../../errors.ts'
import type { Bus } from '../../../replicas/bus.ts'
import { fromCompact } from '../../log/compact-log.ts'
import { EventLog, logStart } from '../../log/event-log.ts'
import type { LiveRun } from '../live-run.ts'
import type { RunRegistry } from '../run-registry.ts'
import { endWithoutSession, toFailedEnd } from '../../log/outcome.ts'
import type { LoggedEvent, RunKey } from '../../run.ts'
import type { HeldRun, RunStore, StoredRun } from '../../run-store.ts'
import { countCommon, type Attempt, type TailStore } from './tail.ts'
import { reachState } from '../../../states.ts'

export interface RemoteRunDependencies {
  store: Pick<RunStore, 'find'>
  registry: Pick<RunRegistry, 'find' | 'waitForChange'>
  /** Absent where no other process shares the store. */
  tails?: Pick<TailStore, 'read'> | undefined
  bus: Bus
  newId(): string
  /** True for a copy that does not count as a reader of the run: the run may end while it is followed. */
  isObserver?: true
}

/** The reader publishes its position to the holder of the run at least at these intervals. */
const publishIntervalMs = 3000
const publishIntervalCharacters = 256 * 1024
/** A message on the bus is handled at once. Messages may get lost: without one, the store is asked after `firstPollMs`, then ever more rarely. */
const firstPollMs = 100
const lastPollMs = 2000

/** A local copy of the log of a run that another process holds, or that is unclaimed. The events have the same numbers as in the other process. */
export class RemoteRun {
  readonly key: RunKey
  readonly log: EventLog
  /** Resolves when the last event is in the log. */
  readonly ended: Promise<void>
  private readonly deps: RemoteRunDependencies
  private readonly reader: string
  private readonly closing = new AbortController()
  /** Fence under which the events in the log were produced; 0 for none. */
  private fence: number
  /** Highest known fence of the run. */
  private newestFence: number
  private isReadable = false
  private hasMoved = false
  private ring: (() => void) | undefined
  private published = { at: -Infinity, characters: 0 }

  /** `copy`: a log with events that were produced under this fence. */
  constructor(
    { tenant, owner, requestId, fence }: HeldRun,
    deps: RemoteRunDependencies,
    copy: { log: EventLog; fence: number } = { log: new EventLog(), fence: 0 },
  ) {
    this.key = { tenant, owner, requestId }
    this.newestFence = fence
    this.log = copy.log
    this.fence = copy.fence
    this.deps = deps
    this.reader = deps.newId()
    this.ended = this.follow()
  }

  onReadable(fence: number): void {
    if (fence === this.newestFence) this.isReadable = true
    else this.hasMoved = true
    this.ring?.()
  }

  onMoved(): void {
    this.hasMoved = true
    this.ring?.()
  }

  /** Ends the copy: no local reader is left, or the service is stopping. The run goes on, so the reason is no event of the run. */
  close(reason: ServiceError): void {
    if (this.log.ended) return
    this.closing.abort()
    this.deps.bus.publish('unread', { ...this.key, reader: this.reader })
    this.log.fail(toFailedEnd(reason))
  }

  private async follow(): Promise<void> {
    let pollMs = firstPollMs
    while (!this.log.ended) {
      this.publishPosition()
      await this.waitForMessage(pollMs)
      pollMs = this.hasMoved ? firstPollMs : this.isReadable ? lastPollMs : Math.min(2 * pollMs, lastPollMs)
      try {
        if (!this.isReadable || this.hasMoved) await this.locate()
        this.isReadable = false
        while (await this.readTail());
      } catch (error) {
        if (isFinal(error)) this.append([toFailedEnd(error)])
        // The store is away: the readers wait for the store, as the run does.
        else pollMs = lastPollMs
      }
    }
  }

  private async waitForMessage(ms: number): Promise<void> {
    if (this.isReadable || this.hasMoved) return
    const messageArrived = new AbortController()
    this.ring = () => messageArrived.abort()
    await this.deps.registry.waitForChange(this.key, ms, AbortSignal.any([messageArrived.signal, this.closing.signal]))
    this.ring = undefined
  }

  private publishPosition(): void {
    const characters = this.log.charactersTo(Infinity)
    const isDue =
      performance.now() - this.published.at >= publishIntervalMs || characters - this.published.characters >= publishIntervalCharacters
    // Until the first events have arrived, the message may have been lost.
    if (!isDue && this.fence === this.newestFence) return
    this.published = { at: performance.now(), characters }
    this.deps.bus.publish('read', {
      ...this.key,
      reader: this.reader,
      fence: this.fence,
      after: this.log.events.length,
      ...(this.deps.isObserver && { isObserver: true }),
    })
  }

  /** Finds out whether the run has ended, was interrupted, or has moved to the local process. */
  private async locate(): Promise<void> {
    this.hasMoved = false
    const local = this.deps.registry.find(this.key)
    if (local) return this.mirror(local)
    const stored = await this.deps.store.find(this.key)
    if (!stored) throw leftQueue()
    this.newestFence = stored.fence
    if (stored.endedAt !== undefined || stored.status === 'interrupted') this.end(stored)
  }

  /** Copies stored events that follow the local copy; false where there are none. */
  private async readTail(): Promise<boolean> {
    const { log, newestFence } = this
    if (log.ended || !this.deps.tails) return false
    const batches = await this.deps.tails.read(this.key, newestFence, this.fence === newestFence ? log.events.length : 0)
    let hasCopied = false
    for (const { first, last, attempt, events } of batches) {
      if (log.ended) return false
      this.begin(newestFence, attempt)
      const count = log.events.length
      // The next published position asks for the missing events.
      if (first > count + 1) {
        reachState('tail-gap')
        break
      }
      if (last > count) hasCopied = true
      this.append(fromCompact(events).slice(count - first + 1))
      await log.waitForReaders(this.closing.signal)
    }
    return hasCopied
  }

  /** Copies the log of a run that has moved to the local process. The log may be continued elsewhere, from an earlier event. */
  private async mirror(run: LiveRun): Promise<void> {
    reachState('copy-of-local-run')
    const detach = run.attach()
    let hasBegun = false
    try {
      for await (const { first, events } of run.log.follow(logStart, this.closing.signal)) {
        this.newestFence = run.fence
        this.begin(run.fence, run.log)
        const isRewound = hasBegun && first <= this.log.events.length && events[0]?.type === 'retrying'
        if (isRewound) this.log.rewind(run.log, first)
        hasBegun = true
        this.append(events.slice(Math.max(0, this.log.events.length - first + 1)))
        await this.log.waitForReaders(this.closing.signal)
      }
      if (run.log.fault) this.log.fail(run.log.fault)
    } finally {
      detach()
    }
  }

  private end({ fence, log: stored }: StoredRun): void {
    if (this.log.ended) return
    const events = stored ? fromCompact(stored.events) : [endWithoutSession]
    const { restoredAt } = stored ?? {}
    const count = this.log.events.length
    // The stored log of a run that left its queue is shorter than the copy: the copy begins again.
    const restored = count >= events.length ? 0 : Math.min(count, restoredAt ?? count)
    if (count >= events.length) this.fence = 0
    this.begin(fence, { restored, restoredAt })
    this.append(events.slice(this.log.events.length))
  }

  private begin(fence: number, attempt: Attempt): void {
    if (this.fence === fence) return
    this.log.rewind(attempt, countCommon(attempt, this.fence, fence))
    this.fence = fence
  }

  private append(events: readonly LoggedEvent[]): void {
    if (this.log.ended) return
    for (const event of events) this.log.append(event)
  }
}

function leftQueue(): ServiceError {
  return new ServiceError('session_busy', 'The run did not get its session.', { retryAfter: 1 })
}

function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'gone' || error.code === 'session_busy')
}
