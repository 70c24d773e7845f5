import { TaskState, type Artifact, type StreamResponse, type Task, type TaskStatus } from '@a2a-js/sdk'
import type { PendingCall } from '../../../agent/approval.ts'
import type { Artifact as FileArtifact } from '../../../agent/artifact.ts'
import { interruptReason } from '../../../runs/approvals/approval-view.ts'
import { collect, errorOf, outputOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { statusOfEnd, type EndEvent, type LoggedEvent } from '../../../runs/run.ts'
import { dataPart } from './message.ts'
import { filesOf, newTask, states, toAnswer, toAnswerArtifact, toFileArtifacts, toStatus, toWaitingStatus, type TaskRef } from './tasks.ts'

/** Converts the files of a run to artifacts with links. */
export type ToArtifacts = (files: readonly FileArtifact[]) => ReturnType<typeof toFileArtifacts>

interface FollowOptions {
  toArtifacts: ToArtifacts
  /** The undecided calls of the run. */
  openCalls(): Promise<readonly PendingCall[]>
  disconnected: AbortSignal
}

/** The position of a reader in the events of a run. */
interface Position {
  /** Number of the last event that the reader has received. */
  after: number
  /** Number of the last status message, larger than the number of any earlier one. */
  steps: number
  /** Whether the next text continues an answer that the reader has received in part. */
  isGrowing: boolean
}

type Updates = AsyncGenerator<StreamResponse, void, undefined>

/** Yields the events after number `after` as updates of the task, until the run ends or waits for approval. */
export async function* follow(run: OpenRun, options: FollowOptions, after = 0): Updates {
  yield { payload: { $case: 'task', value: newTask(taskRefOf(run), run.input) } }
  yield* updatesOf(run, { after, steps: after, isGrowing: false }, options.disconnected)
  yield* lastUpdatesOf(run, options)
}

interface Subscription extends FollowOptions {
  /** The stored state of the task. */
  task: Task
  /** Opens the run to follow; for an interrupted run, with `whenResumed`. */
  open(): Promise<OpenRun>
}

/** Yields the current task, then its updates until the run ends. An interrupted run is followed on after its calls are decided. */
export async function* subscribe({ task, open, ...options }: Subscription): Updates {
  // Opening a pending run may block until its session is free, so the task is sent first.
  const isPending = task.status?.state === TaskState.TASK_STATE_SUBMITTED
  if (isPending) yield { payload: { $case: 'task', value: task } }
  let run = await open()
  const { events } = run.log
  const answer = isPending ? '' : outputOf(events.slice())
  const after = isPending ? 0 : events.length
  const position: Position = { after, steps: after, isGrowing: answer !== '' }
  if (!isPending) yield { payload: { $case: 'task', value: { ...task, artifacts: answer === '' ? [] : [toAnswer(answer)] } } }
  let hasWaitingStatus = task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
  for (;;) {
    const previous = position.after
    yield* updatesOf(run, position, options.disconnected)
    if (options.disconnected.aborted) return
    if (!run.log.interrupted) return yield* lastUpdatesOf(run, options)
    if (!hasWaitingStatus || position.after > previous) yield* lastUpdatesOf(run, options)
    hasWaitingStatus = true
    const resumed = await resumedRun(run, open, options.disconnected)
    if (!resumed) return
    run = resumed
  }
}

/** Waits until an interrupted run resumes. Undefined if the client disconnects first. */
async function resumedRun(run: OpenRun, open: Subscription['open'], disconnected: AbortSignal): Promise<OpenRun | undefined> {
  try {
    // The stored run can be opened only after the process has released the interrupted run.
    await run.ended
    const interrupted = await open()
    return interrupted.whenResumed ? await interrupted.whenResumed(disconnected) : interrupted
  } catch (error) {
    if (disconnected.aborted) return undefined
    throw error
  }
}

/** Yields steps as status updates and the answer as an artifact with appended text. Advances `position`. */
async function* updatesOf({ log, ...run }: OpenRun, position: Position, disconnected: AbortSignal): Updates {
  const taskRef = taskRefOf(run)
  for await (const { first, events } of log.follow(position.after, disconnected)) {
    for (const piece of toPieces(events)) {
      if (piece.type === 'answer') {
        yield toArtifactUpdate(taskRef, toAnswer(piece.text), position.isGrowing)
        position.isGrowing = true
        continue
      }
      // Text after a step starts a new answer, which replaces the text before.
      position.isGrowing = false
      if (piece.type === 'step') yield toUpdate(taskRef, toStatus(TaskState.TASK_STATE_WORKING, taskRef, piece.text, ++position.steps))
    }
    position.after = first + events.length - 1
  }
}

/** Yields the files and the final status of a run, or the calls that wait for approval. */
async function* lastUpdatesOf({ log, ...run }: OpenRun, { toArtifacts, openCalls }: FollowOptions): Updates {
  const taskRef = taskRefOf(run)
  const end = log.last
  if (end?.type === 'interrupt') {
    const calls = await openCalls()
    return yield toUpdate(taskRef, toWaitingStatus(taskRef, calls), { finish_reason: interruptReason(calls) })
  }
  if (end?.type !== 'end') return
  const { structured_output: structured } = collect(run.input, log.eventsAndFault).answer
  // The data follows the text of the answer, which the reader has.
  if (structured !== undefined) yield toArtifactUpdate(taskRef, toAnswerArtifact([dataPart(structured)]), true)
  for (const artifact of await toArtifacts(filesOf(log.events.slice()))) {
    yield { payload: { $case: 'artifactUpdate', value: { ...taskRef, artifact, append: false, lastChunk: true, metadata: undefined } } }
  }
  yield toUpdate(taskRef, toEndStatus(taskRef, end), { finish_reason: end.reason })
}

function taskRefOf({ requestId, sessionId }: Pick<OpenRun, 'requestId' | 'sessionId'>): TaskRef {
  return { taskId: requestId, contextId: sessionId }
}

type Piece = { type: 'answer' | 'step'; text: string } | { type: 'other' }

/** Merges consecutive texts of the answer into one piece. */
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

function toArtifactUpdate(taskRef: TaskRef, artifact: Artifact, append: boolean): StreamResponse {
  return { payload: { $case: 'artifactUpdate', value: { ...taskRef, artifact, append, lastChunk: false, metadata: undefined } } }
}
