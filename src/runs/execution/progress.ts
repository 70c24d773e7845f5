import type { Decision, PendingCall } from '../../agent/approval.ts'
import type { Artifact } from '../../agent/artifact.ts'
import type { EndReason, Step } from '../../agent/events.ts'
import type { Message, ToolMessage } from '../../agent/messages.ts'
import type { Tool } from '../../agent/tool.ts'
import { withoutImageBytes } from '../../agent/tool-images.ts'
import { fromCompact, toCompact } from '../log/compact-log.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { LoggedEvent } from '../run.ts'
import type { Checkpoint, HistoryMessage, NestedMessage, RunStore, Turn, UsageSoFar } from '../run-store.ts'

/** What a run has gathered so far, and how much of it is stored. */
export interface Progress {
  readonly turn: Turn
  history: HistoryMessage[]
  system: string
  /** What the model is shown; the run's own messages begin at `ownFrom`. */
  messages: Message[]
  ownFrom: number
  /** Given to this run alone. */
  extraTools: Tool[]
  /** Model calls made. */
  iterations: number
  usage: UsageSoFar
  steps: Step[]
  /** When steps began whose start is in the log, told before the run was taken over, and whose end is not: by their ids, epoch milliseconds. */
  startedBefore: Map<string, number>
  /** Results of the turn that runs; they come into `messages` in the order asked when all are there. */
  results: ToolMessage[]
  /** Calls that were cut off with the run: how they would have ended is not known, so a continued run has no result of them. */
  cutOff: Set<string>
  /** What agents inside of tool calls have said. */
  nested: NestedMessage[]
  /** Visible events that belong to ended turns and steps. */
  completeEvents: number
  reason: EndReason
  /** Calls that need approval, and have none: the run stands still. */
  pendingCalls: readonly PendingCall[] | undefined
  /** By the call's id. */
  decisions: ReadonlyMap<string, Decision>
  // What the checkpoints hold.
  checkpoints: number
  storedMessages: number
  storedEvents: number
  storedUsage: { models: number; thoughts: number }
  storedResults: Set<string>
  storedNested: number
}

export function emptyProgress(turn: Turn): Progress {
  return {
    turn,
    history: [],
    system: '',
    messages: [],
    ownFrom: 0,
    extraTools: [],
    iterations: 0,
    usage: { models: [], thoughts: [] },
    steps: [],
    startedBefore: new Map(),
    results: [],
    cutOff: new Set(),
    nested: [],
    completeEvents: 0,
    reason: 'error',
    pendingCalls: undefined,
    decisions: new Map(),
    checkpoints: 0,
    storedMessages: 0,
    storedEvents: 0,
    storedUsage: { models: 0, thoughts: 0 },
    storedResults: new Set(),
    storedNested: 0,
  }
}

/** Stores what came since the last checkpoint; `next` is an event that readers see once this is on the disk. */
export async function checkpoint(run: LiveRun, progress: Progress, store: RunStore, next?: LoggedEvent): Promise<void> {
  await storeNext(run, progress, next, (n, data) => store.checkpoint(run.key, run.fence, n, data))
  run.markProgress()
}

/** Has what came since the last checkpoint stored, as the `n`th. */
export async function storeNext(
  run: LiveRun,
  progress: Progress,
  next: LoggedEvent | undefined,
  store: (n: number, data: Checkpoint) => Promise<void>,
): Promise<void> {
  // At the end of a step all that was told is complete; at the end of a run an answer may be half told.
  const events = run.log.events.slice(progress.storedEvents, next ? undefined : progress.completeEvents)
  if (next) events.push(next)
  const { messages, usage, storedUsage } = progress
  const data: Checkpoint = {
    messages: unstored(progress).map(withoutImageBytes),
    iterations: progress.iterations,
    events: toCompact(events),
    usage: { models: usage.models.slice(storedUsage.models), thoughts: usage.thoughts.slice(storedUsage.thoughts) },
    ...(progress.nested.length > progress.storedNested ? { nested: progress.nested.slice(progress.storedNested).map(toStoredNested) } : {}),
  }
  const upTo = { nested: progress.nested.length, messages: messages.length, models: usage.models.length, thoughts: usage.thoughts.length }
  await store(progress.checkpoints + 1, data)
  progress.checkpoints++
  progress.storedMessages = upTo.messages
  progress.storedUsage = upTo
  progress.storedNested = upTo.nested
  progress.storedEvents += events.length
  for (const message of data.messages) if (message.role === 'tool') progress.storedResults.add(message.callId)
}

function toStoredNested(nested: NestedMessage): NestedMessage {
  return { ...nested, message: withoutImageBytes(nested.message) }
}

/** Whether a checkpoint would hold anything new. */
export function hasUnstored(progress: Progress): boolean {
  return unstored(progress).length > 0
}

function unstored({ messages, storedMessages, results, storedResults, cutOff }: Progress): Message[] {
  const seen = new Set([...storedResults, ...cutOff])
  return [...messages.slice(storedMessages), ...results].filter((message) => {
    if (message.role !== 'tool') return true
    if (seen.has(message.callId)) return false
    return seen.add(message.callId)
  })
}

/** Takes up what an earlier process, or an earlier attempt, has stored of the run. */
export function restore(run: LiveRun, progress: Progress, checkpoints: readonly Checkpoint[]): void {
  for (const one of checkpoints) {
    progress.messages.push(...one.messages)
    progress.iterations = one.iterations
    progress.usage.models.push(...one.usage.models)
    progress.usage.thoughts.push(...one.usage.thoughts)
    progress.nested.push(...(one.nested ?? []))
  }
  const events = checkpoints.flatMap((one) => fromCompact(one.events))
  run.log.restore(events, run.resumed ? run.resumed.restoredAt : events.length)
  for (const event of events) {
    if (event.type === 'step_start') progress.startedBefore.set(event.step.id, event.step.startedAt)
    if (event.type !== 'step_end') continue
    progress.startedBefore.delete(event.step.id)
    progress.steps.push(event.step)
  }
  for (const message of progress.messages) if (message.role === 'tool') progress.storedResults.add(message.callId)
  progress.checkpoints = checkpoints.length
  progress.storedMessages = progress.messages.length
  progress.storedEvents = events.length
  progress.storedUsage = { models: progress.usage.models.length, thoughts: progress.usage.thoughts.length }
  progress.completeEvents = events.length
  progress.storedNested = progress.nested.length
}

/** Files that the run's tools made, in the order in which they were made. An agent inside of a call and the call itself may both tell of one. */
export function artifactsOf({ steps }: Progress): Artifact[] {
  const made = new Map(steps.flatMap((step) => step.artifacts ?? []).map((one) => [one.id, one]))
  return [...made.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** What the agent inside of a call has said before the run was taken over. */
export function earlierIn({ nested }: Progress, callId: string): Message[] {
  return nested.flatMap((one) => (one.callId === callId ? [one.message] : []))
}
