import type { OpenRun } from '../../src/runs/open-run.ts'
import type { LoggedEvent } from '../../src/runs/run.ts'
import { toLines, type Audit } from './audit.ts'

/** Reads a run as the stream of an answer does, and checks the numbers of the events. */
export class Reader {
  readonly requestId: string
  /** The valid events, as JSON. A `retrying` event of the log makes those after its number void. */
  lines: string[] = []
  last: LoggedEvent | undefined
  private readonly audit: Audit

  constructor(requestId: string, audit: Audit) {
    this.requestId = requestId
    this.audit = audit
  }

  async follow(run: OpenRun, disconnected: AbortSignal): Promise<void> {
    for await (const { first, events } of run.log.follow({ after: this.lines.length, isValid: false }, disconnected)) {
      const isVoid = first <= this.lines.length && events.length === 1 && events[0]!.type === 'retrying'
      if (isVoid) this.lines.length = first
      else this.append(first, events)
    }
    if (disconnected.aborted) return
    await run.ended
    if (this.last?.type === 'interrupt' && run.whenResumed) await this.follow(await run.whenResumed(disconnected), disconnected)
  }

  private append(first: number, events: readonly LoggedEvent[]): void {
    if (first !== this.lines.length + 1)
      this.audit.fault(`A reader of run ${this.requestId} got event ${first} after event ${this.lines.length}.`)
    this.lines.push(...toLines(events))
    this.last = events.at(-1)
  }
}
