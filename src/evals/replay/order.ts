import type { Pace } from '../../agent/options.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import type { RecordedReply } from '../example.ts'

/** A wait for numbers of events in the log and of replies. */
interface Wait {
  events: number
  replies: number
  open(): void
}

/** The order of a recorded run, by the numbers of its events: what happens in parallel happens in the same order again. */
export class Order implements Pace {
  private readonly events: readonly LoggedEvent[]
  private readonly starts = new Map<string, number>()
  private readonly ends = new Map<string, number>()
  /** By the sub-agent. */
  private readonly plans = new Map<string, number[]>()
  private readonly waits = new Set<Wait>()
  private reached = 0
  private replies = 0
  private isOpen = false

  constructor(events: readonly LoggedEvent[]) {
    this.events = events
    for (const [index, event] of events.entries()) {
      if (event.type === 'step_start' && event.step.type === 'planning') this.addPlan(event.step.subAgent, index)
      else if (event.type === 'step_start' && !this.starts.has(event.step.id)) this.starts.set(event.step.id, index)
      if (event.type === 'step_end') this.ends.set(event.step.id, index)
    }
  }

  /** The event behind those that the log has. */
  get next(): LoggedEvent | undefined {
    return this.events[this.reached]
  }

  /** The log has this number of events. */
  advance(length: number): void {
    this.reached = length
    this.release()
  }

  /** A model has replied. */
  replied(): void {
    this.replies++
    this.release()
  }

  /** Ends all waits: the replay has left the order of the recording. */
  abandon(): void {
    this.isOpen = true
    this.release()
  }

  async plan(subAgent = ''): Promise<void> {
    await this.until(this.plans.get(subAgent)?.shift() ?? 0)
  }

  async start(callId: string): Promise<void> {
    await this.until(this.starts.get(callId) ?? 0)
  }

  async end(callId: string): Promise<void> {
    await this.until(this.ends.get(callId) ?? 0)
  }

  /** Resolves when a reply of a sub-agent may end: behind the events and the replies before. */
  async reply({ at, parent, n }: RecordedReply): Promise<void> {
    if (at && parent !== null) await this.until(at.to, n - 1)
  }

  private addPlan(subAgent = '', index: number): void {
    this.plans.set(subAgent, [...(this.plans.get(subAgent) ?? []), index])
  }

  private async until(events: number, replies = 0): Promise<void> {
    if (this.isReached({ events, replies })) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.waits.add({ events, replies, open: resolve })
    await promise
  }

  private isReached({ events, replies }: Pick<Wait, 'events' | 'replies'>): boolean {
    return this.isOpen || (this.reached >= events && this.replies >= replies)
  }

  private release(): void {
    for (const wait of this.waits) {
      if (!this.isReached(wait)) continue
      this.waits.delete(wait)
      wait.open()
    }
  }
}
