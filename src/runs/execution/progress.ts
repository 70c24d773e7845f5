import type { Meter } from '../../budgets/meter.ts'
import type { Decision, Suspension } from '../../agent/approval.ts'
import type { Containment } from '../../agent/taint.ts'
import type { Tool } from '../../agent/tool.ts'
import type { LoopEnd, Step } from '../../agent/events.ts'
import type { Message, ToolMessage } from '../../agent/messages.ts'
import { withoutImageBytes } from '../../agent/history.ts'
import { joinActs, type LedgerProgress } from './acts.ts'
import { fromCompact, toCompact } from '../log/compact-log.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { LoggedEvent } from '../run.ts'
import type { TimesRecord } from '../trace/records.ts'
import type {
  Checkpoint,
  CheckpointParts,
  HistoryMessage,
  NestedMessage,
  ExecutionStore,
  Settlements,
  Turn,
  UsageSoFar,
} from '../run-store.ts'

/** The progress of a run, and the part of the progress in checkpoints. */
export interface Progress extends LedgerProgress {
  readonly turn: Turn
  history: HistoryMessage[]
  system: string
  /** The transcript for the model. Messages of the current run begin at `ownFrom`. */
  messages: Message[]
  ownFrom: number
  /** Tools of the current run only. */
  extraTools: Tool[]
  /** Tools that the client runs. Sub-agents do not get them. */
  clientTools: readonly Tool[]
  /** Number of model calls. */
  iterations: number
  usage: UsageSoFar
  steps: Step[]
  /** Start times (epoch milliseconds, by id) of steps from before a takeover whose end is not in the log. */
  startedBefore?: Map<string, number>
  /** Results of the current turn. All results move to `messages`, in the order of the calls, when the turn is complete. */
  results: ToolMessage[]
  /** Calls that were aborted with the run. The results are unknown, so a resumed run has no result of these calls. */
  cutOff?: Set<string>
  /** Messages of agents inside of tool calls. */
  nested: NestedMessage[]
  /** Calls that were suspended; the last entry of a call counts. */
  suspensions: Suspension[]
  /** Number of visible events that belong to ended turns and steps. */
  completeEvents: number
  /** Number of messages that were delivered to the run. */
  deliveries: number
  /** Present once the checkpoints of earlier processes are read. */
  isRestored?: true
  end: LoopEnd
  /** Absent: containment is not configured. */
  containment?: Containment
  /** Decisions by call id. */
  decisions?: ReadonlyMap<string, Decision>
  // Watermarks of the checkpoints.
  checkpoints: number
  storedMessages: number
  storedEvents: number
  storedUsage: { models: number; thoughts: number }
  storedResults?: Set<string>
  storedNested: number
  storedSuspensions: number
  storedRecords: number
}

/** Stores the progress since the last checkpoint. `next` is an event that readers receive after the commit. */
export async function checkpoint(
  run: LiveRun,
  progress: Progress,
  store: ExecutionStore,
  next?: LoggedEvent,
  also?: Omit<CheckpointParts, 'settlements'>,
): Promise<void> {
  const { unrecorded } = progress
  const parts = unrecorded ? { ...also, acts: joinActs(unrecorded, also?.acts) } : also
  await storeNext(run, progress, next, (n, data, settlements) =>
    run.times.during('store', () => store.checkpoint(run.key, run.fence, n, data, { settlements, ...parts })),
  )
  progress.unrecorded = undefined
  run.markProgress()
}

/** Passes the progress since the last checkpoint to `store`, as checkpoint number `n`. */
export async function storeNext(
  run: LiveRun,
  progress: Progress,
  next: LoggedEvent | undefined,
  store: (n: number, data: Checkpoint, settlements: Settlements) => Promise<void>,
): Promise<void> {
  // At the end of a step all events are complete; at the end of a run the last answer may be partial.
  const events = run.log.events.slice(progress.storedEvents, next ? undefined : progress.completeEvents)
  if (next) events.push(next)
  const { messages, usage, storedUsage } = progress
  const trace = run.trace.after(progress.storedRecords)
  const data: Checkpoint = {
    messages: unstored(progress).map(withoutImageBytes),
    iterations: progress.iterations,
    events: toCompact(events),
    usage: { models: usage.models.slice(storedUsage.models), thoughts: usage.thoughts.slice(storedUsage.thoughts) },
  }
  const nested = progress.nested.slice(progress.storedNested)
  if (nested.length > 0) data.nested = nested.map((entry) => ({ ...entry, message: withoutImageBytes(entry.message) }))
  const suspensions = progress.suspensions.slice(progress.storedSuspensions)
  if (suspensions.length > 0) data.suspensions = suspensions
  if (trace.length > 0) data.trace = trace
  if (progress.containment) data.containment = progress.containment.policy
  if (run.log.restoredAt !== undefined) data.restoredAt = run.log.restoredAt
  const upTo = {
    nested: progress.nested.length,
    suspensions: progress.suspensions.length,
    messages: messages.length,
    models: usage.models.length,
    thoughts: usage.thoughts.length,
  }
  const settlements = run.meter && settlementsOf(run.meter)
  await store(progress.checkpoints + 1, data, settlements)
  if (settlements) run.meter?.settled(settlements)
  progress.checkpoints++
  progress.storedMessages = upTo.messages
  progress.storedUsage = upTo
  progress.storedNested = upTo.nested
  progress.storedSuspensions = upTo.suspensions
  progress.storedRecords += trace.length
  progress.storedEvents += events.length
  keepStoredResults(progress, data.messages)
}

function keepStoredResults(progress: Progress, messages: readonly Message[]): void {
  for (const message of messages) if (message.role === 'tool') (progress.storedResults ??= new Set()).add(message.callId)
}

/** What model calls did cost since the last commit; undefined for nothing. */
export function settlementsOf(meter: Meter): Settlements {
  const due = meter.due()
  return due.length > 0 ? due : undefined
}

/** True where there is progress since the last checkpoint. */
export function hasUnstored(progress: Progress): boolean {
  return unstored(progress).length > 0
}

function unstored({ messages, storedMessages, results, storedResults, cutOff }: Progress): Message[] {
  const newMessages = messages.slice(storedMessages)
  // No result is in both lists, or stored.
  if (results.length === 0 && !storedResults && !cutOff) return newMessages
  const knownResults = new Set([...(storedResults ?? []), ...(cutOff ?? [])])
  return newMessages.concat(results).filter((message) => {
    if (message.role !== 'tool') return true
    if (knownResults.has(message.callId)) return false
    return knownResults.add(message.callId)
  })
}

/** Restores the progress of an earlier process or attempt from checkpoints. */
export function restore(run: LiveRun, progress: Progress, checkpoints: readonly Checkpoint[]): void {
  for (const stored of checkpoints) {
    progress.messages.push(...stored.messages)
    progress.iterations = stored.iterations
    progress.usage.models.push(...stored.usage.models)
    progress.usage.thoughts.push(...stored.usage.thoughts)
    progress.nested.push(...(stored.nested ?? []))
    progress.suspensions.push(...(stored.suspensions ?? []))
    run.trace.restore(stored.trace ?? [])
    const times = stored.trace?.findLast(({ type }) => type === 'times')
    if (times) run.times.restore(times as TimesRecord)
  }
  const events = checkpoints.flatMap((stored) => fromCompact(stored.events))
  run.log.restore(events, restoredAtOf(run, checkpoints, events.length))
  const startedBefore = (progress.startedBefore = new Map<string, number>())
  for (const event of events) {
    if (event.type === 'user_message') progress.deliveries++
    if (event.type === 'step_start') startedBefore.set(event.step.id, event.step.startedAt)
    if (event.type !== 'step_end') continue
    startedBefore.delete(event.step.id)
    progress.steps.push(event.step)
  }
  keepStoredResults(progress, progress.messages)
  progress.checkpoints = checkpoints.length
  progress.storedMessages = progress.messages.length
  progress.storedEvents = events.length
  progress.storedUsage = { models: progress.usage.models.length, thoughts: progress.usage.thoughts.length }
  progress.completeEvents = events.length
  progress.storedNested = progress.nested.length
  progress.storedSuspensions = progress.suspensions.length
  progress.storedRecords = run.trace.count
}

/**
 * The smallest number at which an attempt so far went on from checkpoints. `count`: number of events that the current attempt restores.
 * Undefined where no reader can know events that were made again.
 */
function restoredAtOf({ earlier }: LiveRun, checkpoints: readonly Checkpoint[], count: number): number | undefined {
  const numbers = [earlier.restoredAt, ...checkpoints.map(({ restoredAt }) => restoredAt), earlier.hasUnstored ? count : undefined]
  const restarts = numbers.filter((number) => number !== undefined)
  return restarts.length === 0 ? undefined : Math.min(...restarts)
}
