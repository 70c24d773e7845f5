import type { AgentEvent } from './events.ts'

/** A queue of events from agents inside of tool calls, on the way into the run's own stream. */
export class InnerEvents {
  private waiting: { event: AgentEvent; onTaken: () => void }[] = []
  private isClosed = false
  private arrival = Promise.withResolvers<undefined>()

  /** Resolves when an event is waiting. */
  get arrived(): Promise<undefined> {
    return this.arrival.promise
  }

  *take(): Generator<AgentEvent, void> {
    this.arrival = Promise.withResolvers()
    // Each event is removed only after the consumer has come back. When the consumer leaves in the middle, `close`
    // releases that event and the rest, after all calls were told to stop.
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      yield next.event
      this.waiting.shift()
      next.onTaken()
    }
  }

  /** Resolves when the consumer has taken the event and asked for the next. */
  readonly publish = (event: AgentEvent): Promise<void> =>
    new Promise((onTaken) => {
      if (this.isClosed) return onTaken()
      this.waiting.push({ event, onTaken })
      this.arrival.resolve(undefined)
    })

  close(): void {
    this.isClosed = true
    for (const { onTaken } of this.waiting.splice(0)) onTaken()
  }
}
