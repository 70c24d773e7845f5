import type { Emit } from './events.ts'

/**
 * Passes the events of an agent on, one at a time: while an event is being stored, later events wait, whichever call or inner
 * agent they come from. After a failure nothing is passed on, and every emit rejects with the failure.
 */
export class Emitter {
  /** True when an emit has failed. */
  hasFailed = false
  /** Settles with the newest event; absent when no event is being stored. */
  private last: Promise<void> | undefined
  private readonly receive: Emit

  constructor(receive: Emit) {
    this.receive = receive
  }

  readonly emit: Emit = (event) => {
    if (this.last) return this.waitFor(this.last.then(() => this.receive(event)))
    try {
      const storing = this.receive(event)
      return storing && this.waitFor(storing)
    } catch (error) {
      return this.waitFor(Promise.reject(error))
    }
  }

  /** Resolves when all events are stored; rejects with the failure of an emit. Undefined when all events are stored. */
  get settled(): Promise<void> | undefined {
    return this.last
  }

  private waitFor(storing: Promise<void>): Promise<void> {
    this.last = storing
    storing.then(
      () => {
        if (this.last === storing) this.last = undefined
      },
      // `last` remains, so that each later event fails with the same error.
      () => {
        this.hasFailed = true
      },
    )
    return storing
  }
}
