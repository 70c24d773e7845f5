import { TaskState, type Artifact, type StreamResponse, type Task, type TaskStatus } from '@a2a-js/sdk'
import type { PendingCall } from '../../../agent/approval.ts'
import { TextBuilder } from '../../../agent/answer.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { interruptReason } from '../../../runs/approvals/approval-view.ts'
import { errorOf, outputOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { LastEvent, LoggedEvent } from '../../../runs/run.ts'
import { isLastEvent } from '../../../runs/log/event-log.ts'
import { statusOfEnd } from '../../../runs/log/outcome.ts'
import type { Projection } from '../../send-run.ts'
import { stepText } from '../protocols.ts'
import { dataPart } from './message.ts'
import {
  newTask,
  states,
  toAnswer,
  toAnswerArtifact,
  toEndStatus,
  toFileArtifacts,
  toStatus,
  toWaitingStatus,
  type TaskRef,
} from './tasks.ts'

/** A run as updates of its task: steps as status updates, and the answer as an artifact with appended text. */
export class TaskProjection implements Projection<StreamResponse> {
  private readonly taskRef: TaskRef
  private readonly answer = new TextBuilder()
  /** Whether the next text continues the answer that the client has. */
  private isGrowing = false
  /** Number of the last status message, larger than the number of any earlier one. */
  private statusNumber: number

  /** `received`: the events that the client has. */
  constructor({ requestId, sessionId }: Pick<OpenRun, 'requestId' | 'sessionId'>, received: readonly LoggedEvent[] = []) {
    this.taskRef = { taskId: requestId, contextId: sessionId }
    this.statusNumber = received.length
    this.answer.add(outputOf(received))
    this.isGrowing = !this.answer.isEmpty && !isLastEvent(received.at(-1))
  }

  take(event: LoggedEvent): readonly StreamResponse[] {
    if (event.type === 'text' && event.label === 'answer') return [this.append(event.text)]
    if (isLastEvent(event)) return []
    // Text after another event starts a new answer, which replaces the text before.
    this.isGrowing = false
    const text = stepText(event)
    if (text === undefined) return []
    return [this.toUpdate(toStatus(TaskState.TASK_STATE_WORKING, this.taskRef, text, ++this.statusNumber))]
  }

  /** The files and the final status of a run, or the calls that wait. */
  last(event: LastEvent, _number: number, files: readonly AnswerFile[]): readonly StreamResponse[] {
    const { taskRef } = this
    if (event.type === 'interrupt')
      return [this.toUpdate(toWaitingStatus(taskRef, event.calls), { finish_reason: interruptReason(event.calls) })]
    // The data follows the text of the answer, which the client has.
    const value = event.structured ? [dataPart(JSON.parse(this.answer.toText()))] : []
    return [
      ...(value.length > 0 ? [this.toArtifactUpdate(toAnswerArtifact(value), { append: true, lastChunk: false })] : []),
      ...toFileArtifacts(files).map((artifact) => this.toArtifactUpdate(artifact, { append: false, lastChunk: true })),
      this.toUpdate(toEndStatus(states[statusOfEnd(event.reason)], taskRef, errorOf(event)), { finish_reason: event.reason }),
    ]
  }

  private append(text: string): StreamResponse {
    const append = this.isGrowing
    if (!append) this.answer.clear()
    this.answer.add(text)
    this.isGrowing = true
    return this.toArtifactUpdate(toAnswer(text), { append, lastChunk: false })
  }

  private toUpdate(status: TaskStatus, metadata?: Record<string, unknown>): StreamResponse {
    return { payload: { $case: 'statusUpdate', value: { ...this.taskRef, status, metadata } } }
  }

  private toArtifactUpdate(artifact: Artifact, { append, lastChunk }: { append: boolean; lastChunk: boolean }): StreamResponse {
    return { payload: { $case: 'artifactUpdate', value: { ...this.taskRef, artifact, append, lastChunk, metadata: undefined } } }
  }
}

interface FollowOptions {
  /** Files of the events, with links for the client. */
  toFiles(events: readonly LoggedEvent[]): Promise<readonly AnswerFile[]>
  /** The undecided calls of the run. */
  openCalls(): Promise<readonly PendingCall[]>
  disconnected: AbortSignal
}

type Updates<Result = void> = AsyncGenerator<StreamResponse, Result, undefined>

/** Yields the updates of a task behind the events that the client has received, until the run ends or waits for approval. */
export async function* follow(run: OpenRun, options: FollowOptions, received: readonly LoggedEvent[] = []): Updates {
  yield toFirst(newTask({ taskId: run.requestId, contextId: run.sessionId }, run.input))
  const projection = new TaskProjection(run, received)
  yield* updatesOf(run, projection, received.length, options.disconnected)
  yield* lastUpdatesOf(run, projection, options)
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
  if (isPending) yield toFirst(task)
  let run = await open()
  let received = isPending ? [] : run.log.events.slice()
  const { rewinds } = run.log
  const answer = outputOf(received)
  if (!isPending) yield toFirst({ ...task, artifacts: answer === '' ? [] : [toAnswer(answer)] })
  // The run may have lost its process while a slow client took the task: its answer begins anew.
  if (run.log.rewinds !== rewinds) received = []
  const projection = new TaskProjection(run, received)
  let after = received.length
  let hasWaitingStatus = task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
  for (;;) {
    const previous = after
    after = yield* updatesOf(run, projection, after, options.disconnected)
    if (options.disconnected.aborted) return
    if (!run.log.interrupted) return yield* lastUpdatesOf(run, projection, options)
    if (!hasWaitingStatus || after > previous) yield* lastUpdatesOf(run, projection, options)
    hasWaitingStatus = true
    const resumed = await resumedRun(run, open, options.disconnected)
    if (!resumed) return
    run = resumed
  }
}

function toFirst(value: Task): StreamResponse {
  return { payload: { $case: 'task', value } }
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

/** Yields the updates behind the event number `after`, and returns the number of the last event. */
async function* updatesOf({ log }: OpenRun, projection: TaskProjection, after: number, disconnected: AbortSignal): Updates<number> {
  let received = after
  for await (const { first, events } of log.follow({ after, isValid: true }, disconnected)) {
    for (const event of withJoinedTexts(events)) yield* projection.take(event)
    received = first + events.length - 1
  }
  return received
}

/** Joins pieces of the answer that arrive together into a single update. */
function withJoinedTexts(events: readonly LoggedEvent[]): LoggedEvent[] {
  const joined: LoggedEvent[] = []
  for (const event of events) {
    const last = joined.at(-1)
    const isText = event.type === 'text' && last?.type === 'text' && event.label === last.label
    if (isText) joined[joined.length - 1] = { ...last, text: last.text + event.text }
    else joined.push(event)
  }
  return joined
}

async function* lastUpdatesOf({ log }: OpenRun, projection: TaskProjection, { toFiles, openCalls }: FollowOptions): Updates {
  const end = log.last
  if (end?.type === 'interrupt') yield* projection.last({ ...end, calls: await openCalls() }, log.events.length, [])
  else if (end) yield* projection.last(end, log.events.length, await toFiles(log.events.slice()))
}
