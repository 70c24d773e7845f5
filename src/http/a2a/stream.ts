import { TaskState, type StreamResponse, type Task, type TaskStatus } from '@a2a-js/sdk'
import type { PendingCall } from '../../agent/approval.ts'
import type { Artifact as MadeFile } from '../../agent/artifact.ts'
import type { OpenRun } from '../../runs/ownership/live-runs.ts'
import { errorOf, outputOf } from '../../runs/log/outcome.ts'
import { statusOfEnd, type EndEvent, type LoggedEvent } from '../../runs/run.ts'
import { filesOf, newTask, states, toAnswer, toFileArtifacts, toStatus, toWaitingStatus, type TaskRef } from './tasks.ts'

/** The artifacts of files, as they are told at the end. */
export type ToArtifacts = (files: readonly MadeFile[]) => ReturnType<typeof toFileArtifacts>

interface FollowOptions {
  toArtifacts: ToArtifacts
  /** Calls that wait, and that nobody has decided meanwhile. */
  openCalls(): Promise<readonly PendingCall[]>
  disconnected: AbortSignal
}

/** How far a reader is in a run's events. */
interface Position {
  /** Number of the last event that the reader has. */
  after: number
  /** Number of the last message about a step: larger than any that the reader has. */
  steps: number
  /** Whether the reader has a part of the answer, which the next text continues. */
  isGrowing: boolean
}

type Updates = AsyncGenerator<StreamResponse, void, undefined>

/** A run's events behind number `after` as updates of its task, until the run ends or waits for approval. */
export async function* follow(run: OpenRun, options: FollowOptions, after = 0): Updates {
  yield { payload: { $case: 'task', value: newTask(taskRefOf(run), run.input) } }
  yield* updatesOf(run, { after, steps: after, isGrowing: false }, options.disconnected)
  yield* lastUpdatesOf(run, options)
}

interface Subscription extends FollowOptions {
  /** The stored state of the task. */
  task: Task
  /** The run, to follow. Of a run that waits for approval, with `goesOn`. */
  open(): Promise<OpenRun>
}

/** The task as it is now, then the run's updates until its end: a run that waits for approval is followed when its calls are decided. */
export async function* subscribe({ task, open, ...options }: Subscription): Updates {
  // A run without its turn has said nothing yet, and opening it may take until it has.
  const isPending = task.status?.state === TaskState.TASK_STATE_SUBMITTED
  if (isPending) yield { payload: { $case: 'task', value: task } }
  let run = await open()
  const { events } = run.log
  const answer = isPending ? '' : outputOf(events)
  const known = isPending ? 0 : events.length
  const position: Position = { after: known, steps: known, isGrowing: answer !== '' }
  if (!isPending) yield { payload: { $case: 'task', value: { ...task, artifacts: answer === '' ? [] : [toAnswer(answer)] } } }
  let hasWaitingStatus = task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
  for (;;) {
    const { after } = position
    yield* updatesOf(run, position, options.disconnected)
    if (options.disconnected.aborted) return
    if (!run.log.interrupted) return yield* lastUpdatesOf(run, options)
    if (!hasWaitingStatus || position.after > after) yield* lastUpdatesOf(run, options)
    hasWaitingStatus = true
    const resumed = await resumedRun(run, open, options.disconnected)
    if (!resumed) return
    run = resumed
  }
}

/** An interrupted run when it goes on; undefined where the reader leaves before. */
async function resumedRun(run: OpenRun, open: Subscription['open'], disconnected: AbortSignal): Promise<OpenRun | undefined> {
  try {
    // The process gives the run up behind its interrupt: only then can the stored run be opened.
    await run.ended
    const interrupted = await open()
    return interrupted.goesOn ? await interrupted.goesOn(disconnected) : interrupted
  } catch (error) {
    if (disconnected.aborted) return undefined
    throw error
  }
}

/** Steps are told as the task's status, the answer as an artifact that grows. Moves `position`. */
async function* updatesOf({ log, ...run }: OpenRun, position: Position, disconnected: AbortSignal): Updates {
  const taskRef = taskRefOf(run)
  for await (const { first, events } of log.follow(position.after, disconnected)) {
    for (const piece of toPieces(events)) {
      if (piece.type === 'answer') {
        yield toArtifactUpdate(taskRef, piece.text, position.isGrowing)
        position.isGrowing = true
        continue
      }
      // Text behind a step is another answer: it replaces what was said before.
      position.isGrowing = false
      if (piece.type === 'step') yield toUpdate(taskRef, toStatus(TaskState.TASK_STATE_WORKING, taskRef, piece.text, ++position.steps))
    }
    position.after = first + events.length - 1
  }
}

/** How a run ended, with its files; or which calls it waits for. */
async function* lastUpdatesOf({ log, ...run }: OpenRun, { toArtifacts, openCalls }: FollowOptions): Updates {
  const taskRef = taskRefOf(run)
  const end = log.events.at(-1)
  if (end?.type === 'interrupt' && log.ended) {
    return yield toUpdate(taskRef, toWaitingStatus(taskRef, await openCalls()), { finish_reason: 'approval_required' })
  }
  if (end?.type !== 'end') return
  for (const artifact of await toArtifacts(filesOf(log.events))) {
    yield { payload: { $case: 'artifactUpdate', value: { ...taskRef, artifact, append: false, lastChunk: true, metadata: undefined } } }
  }
  yield toUpdate(taskRef, toEndStatus(taskRef, end), { finish_reason: end.reason })
}

function taskRefOf({ requestId, sessionId }: Pick<OpenRun, 'requestId' | 'sessionId'>): TaskRef {
  return { taskId: requestId, contextId: sessionId }
}

type Piece = { type: 'answer' | 'step'; text: string } | { type: 'other' }

/** Text of the answer that arrived together is one piece. */
function toPieces(events: readonly LoggedEvent[]): Piece[] {
  const pieces: Piece[] = []
  for (const event of events) {
    const piece = toPiece(event)
    const last = pieces.at(-1)
    if (piece?.type === 'answer' && last?.type === 'answer') last.text += piece.text
    else if (piece) pieces.push(piece)
  }
  return pieces
}

/** Undefined for the last event, which is sent as the task's final status. */
function toPiece(event: LoggedEvent): Piece | undefined {
  switch (event.type) {
    case 'text':
      return event.label === 'answer' ? { type: 'answer', text: event.text } : { type: 'other' }
    case 'step_start':
      return { type: 'step', text: `${event.step.tool} has started.` }
    case 'step_end':
      return { type: 'step', text: `${event.step.tool} has ended: ${event.step.status}.` }
    case 'retrying':
      return { type: 'other' }
    case 'interrupt':
    case 'end':
      return undefined
  }
}

function toEndStatus(taskRef: TaskRef, end: EndEvent): TaskStatus {
  return toStatus(states[statusOfEnd(end.reason)], taskRef, errorOf(end)?.body)
}

function toUpdate(taskRef: TaskRef, status: TaskStatus, metadata?: Record<string, unknown>): StreamResponse {
  return { payload: { $case: 'statusUpdate', value: { ...taskRef, status, metadata } } }
}

function toArtifactUpdate(taskRef: TaskRef, text: string, append: boolean): StreamResponse {
  return {
    payload: { $case: 'artifactUpdate', value: { ...taskRef, artifact: toAnswer(text), append, lastChunk: false, metadata: undefined } },
  }
}
