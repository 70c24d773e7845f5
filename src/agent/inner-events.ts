import type { AgentEvent } from './events.ts'

/** Events of agents inside of the calls, on their way into the run's. */
export class InnerEvents {
  private waiting: { event: AgentEvent; taken: () => void }[] = []
  private isClosed = false
  private arrival = Promise.withResolvers<undefined>()

  /** Resolves when there is something to take. */
  get arrived(): Promise<undefined> {
    return this.arrival.promise
  }

  *take(): Generator<AgentEvent, void> {
    this.arrival = Promise.withResolvers()
    // One by one: the event that makes its taker leave, and what is behind it, is let go by `close`, when all calls are told to stop.
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      yield next.event
      this.waiting.shift()
      next.taken()
    }
  }

  /** Resolves when the event has been taken, and whoever took it has come back for the next. */
  readonly tell = (event: AgentEvent): Promise<void> =>
    new Promise((taken) => {
      if (this.isClosed) return taken()
      this.waiting.push({ event, taken })
      this.arrival.resolve(undefined)
    })

  close(): void {
    this.isClosed = true
    for (const { taken } of this.waiting.splice(0)) taken()
  }
}
