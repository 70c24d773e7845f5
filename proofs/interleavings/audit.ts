import type { HistoryMessage } from '../../src/runs/run-store.ts'
import type { Row } from '../../src/runs/memory-run-rows-fixture.ts'
import { fromCompact } from '../../src/runs/log/compact-log.ts'
import type { LoggedEvent } from '../../src/runs/run.ts'
import { runKeyText } from '../../src/runs/ownership/run-registry.ts'
import type { SimulatedStore } from './store.ts'

interface RunHistory {
  fence: number
  status: Row['status']
  endedAt: number | undefined
  isFinal: boolean
  /** The logs with which the run has ended or was interrupted, as JSON of the events. */
  logs: string[][]
}

/** Functions of the store that only the newest holder of a run may call, with the index of the fence among the arguments. */
const fenced = new Set(['checkpoint', 'keepResultImages', 'interrupt', 'startApproved', 'finish'])

/**
 * Compares the database before and after each function with rules of every schedule, and collects broken rules. The audit keeps a copy of the
 * database and does not use the rules of the store.
 */
export class Audit {
  readonly faults: string[] = []
  /** Executions of the tool that changes something, by request id. */
  readonly writes = new Map<string, number>()
  readonly runs = new Map<string, RunHistory>()
  private readonly sessions = new Map<string, { activeRun: string | undefined; messages: HistoryMessage[] }>()
  private readonly store: SimulatedStore

  constructor(store: SimulatedStore) {
    this.store = store
  }

  fault(text: string): void {
    if (this.faults.length < 10) this.faults.push(text)
  }

  onWrite(requestId: string): void {
    const count = (this.writes.get(requestId) ?? 0) + 1
    this.writes.set(requestId, count)
    if (count > 1) this.fault(`The tool of run ${requestId} was executed ${count} times.`)
    const starts = this.store.ledger.filter(({ action, run }) => action === 'tool.started' && run?.requestId === requestId).length
    if (starts !== 1) this.fault(`The tool of run ${requestId} was executed with ${starts} starts in the ledger.`)
    const question = this.store.rowOf(requestId)?.request?.messages.at(-1)?.content
    if (!question?.startsWith('approve')) return
    const decisions = [...(this.store.decided.get(runKeyText(this.store.rowOf(requestId)!))?.values() ?? [])]
    if (!decisions.some(({ decision }) => decision === 'approve'))
      this.fault(`The tool of run ${requestId} was executed without an approval.`)
  }

  /** Called after a function of the store that did not throw. */
  afterCall(name: string, args: readonly unknown[], value: unknown): void {
    this.checkFence(name, args, value)
    for (const row of this.store.allRows()) this.checkRun(row)
    for (const session of this.store.allSessions()) this.checkSession(session)
  }

  /** A write was accepted: the caller must be the newest holder. */
  private checkFence(name: string, args: readonly unknown[], value: unknown): void {
    const key = args[0] as { requestId: string; fence?: number }
    if (fenced.has(name)) this.requireNewest(name, key.requestId, args[1] as number)
    if (name === 'takeTurn' && value !== undefined) this.requireNewest(name, key.requestId, key.fence!)
  }

  private requireNewest(name: string, requestId: string, fence: number): void {
    const seen = this.runs.get(requestId)
    if (!seen) return this.fault(`${name} of run ${requestId}, which is not stored.`)
    if (fence !== seen.fence) this.fault(`${name} of run ${requestId} under fence ${fence} was accepted after fence ${seen.fence}.`)
    if (seen.endedAt !== undefined) this.fault(`${name} of run ${requestId} was accepted after its end.`)
  }

  private checkRun(row: Row): void {
    const { requestId, fence, status, endedAt, continuable, log } = row
    const seen = this.runs.get(requestId) ?? { fence, status: 'pending', endedAt: undefined, isFinal: false, logs: [] }
    this.runs.set(requestId, seen)
    if (fence < seen.fence) this.fault(`The fence of run ${requestId} fell from ${seen.fence} to ${fence}.`)
    const hasChanged = status !== seen.status || endedAt !== seen.endedAt || fence !== seen.fence
    if (seen.isFinal && hasChanged) this.fault(`Run ${requestId} has ended as ${seen.status}, and is ${status} afterwards.`)
    const isStop = endedAt !== undefined || status === 'interrupted'
    const open = endedAt !== undefined && hasChanged ? this.store.openCalls(row).length : 0
    if (open > 0) this.fault(`Run ${requestId} has ended with ${open} open starts in the ledger.`)
    if (isStop && hasChanged) seen.logs.push(log ? toLines(fromCompact(log.events)) : [])
    Object.assign(seen, { fence, status, endedAt, isFinal: endedAt !== undefined && !continuable })
  }

  private checkSession({ key, activeRun, messages }: { key: string; activeRun: string | undefined; messages: HistoryMessage[] }): void {
    const seen = this.sessions.get(key) ?? { activeRun: undefined, messages: [] }
    this.sessions.set(key, seen)
    this.checkAppendOnly(key, seen.messages, messages, activeRun)
    if (activeRun !== undefined && activeRun !== seen.activeRun) this.checkOrder(key, activeRun)
    seen.activeRun = activeRun
    seen.messages = [...messages]
  }

  /** A continued run replaces its own partial answer; everything else stays. */
  private checkAppendOnly(
    key: string,
    before: readonly HistoryMessage[],
    after: readonly HistoryMessage[],
    activeRun: string | undefined,
  ): void {
    before.forEach((message, index) => {
      if (after[index] === message) return
      const isOwnAnswer = index === before.length - 1 && message.role === 'ai' && message.data?.requestId === activeRun
      if (!isOwnAnswer) this.fault(`Message ${index} of session ${key} has changed.`)
    })
    after.forEach(({ idx }, index) => idx !== index && this.fault(`Message ${index} of session ${key} has the number ${idx}.`))
  }

  private checkOrder(key: string, requestId: string): void {
    const waiting = this.store.allRows().filter((row) => row.session === key && row.status === 'pending' && row.endedAt === undefined)
    const row = this.store.rowOf(requestId)
    const earlier = waiting.find((other) => row !== undefined && other.place < row.place)
    if (earlier) this.fault(`Run ${requestId} got session ${key} before run ${earlier.requestId}, which came earlier.`)
  }
}

export function toLines(events: readonly LoggedEvent[]): string[] {
  return events.map((event) => JSON.stringify(event))
}
