import { TaskState, type StreamResponse, type TaskStatus } from '@a2a-js/sdk'
import type { PendingCall } from '../../agent/approval.ts'
import type { Artifact as MadeFile } from '../../agent/artifact.ts'
import type { OpenRun } from '../../runs/live-runs.ts'
import { errorOf } from '../../runs/outcome.ts'
import { isLastEvent, statusOfEnd, type EndEvent, type LoggedEvent } from '../../runs/run.ts'
import { filesOf, newTask, states, toAnswer, toFileArtifacts, toStatus, toWaitingStatus, type Place } from './tasks.ts'

/** The artifacts of files, as they are told at the end. */
export type ToArtifacts = (files: readonly MadeFile[]) => ReturnType<typeof toFileArtifacts>

interface Following {
  toArtifacts: ToArtifacts
  /** Calls that wait, and that nobody has decided meanwhile. */
  stillOpen(): Promise<readonly PendingCall[]>
  left: AbortSignal
  /** Number of the last event that the reader knows; default: none. */
  after?: number
}

/** A run's events as updates of its task: steps as its status, the answer as an artifact that grows, its files when it has ended. */
export async function* follow(
  run: OpenRun,
  { toArtifacts, stillOpen, left, after = 0 }: Following,
): AsyncGenerator<StreamResponse, void, undefined> {
  const place = { taskId: run.requestId, contextId: run.sessionId }
  yield { payload: { $case: 'task', value: newTask(place, run.input) } }
  let isGrowing = false
  // Of messages that the reader has, none has a number so high.
  let steps = after
  for await (const { events } of run.log.follow(after, left)) {
    for (const piece of toPieces(events)) {
      if (piece.type === 'answer') {
        yield toArtifactUpdate(place, piece.text, isGrowing)
        isGrowing = true
        continue
      }
      // What comes behind another label is the answer, and what came before is not.
      isGrowing = false
      if (piece.type === 'step') yield toUpdate(place, toStatus(TaskState.TASK_STATE_WORKING, place, piece.text, ++steps))
    }
  }
  const end = run.log.events.at(-1)
  if (end?.type === 'interrupt' && run.log.ended) {
    return yield toUpdate(place, toWaitingStatus(place, await stillOpen()), { finish_reason: 'approval_required' })
  }
  if (end?.type !== 'end') return
  for (const artifact of await toArtifacts(filesOf(run.log.events))) {
    yield { payload: { $case: 'artifactUpdate', value: { ...place, artifact, append: false, lastChunk: true, metadata: undefined } } }
  }
  yield toUpdate(place, toEndStatus(place, end), { finish_reason: end.reason })
}

type Piece = { type: 'answer' | 'step'; text: string } | { type: 'other' }

/** Text of the answer that arrived together is one piece. */
function toPieces(events: readonly LoggedEvent[]): Piece[] {
  const pieces: Piece[] = []
  for (const event of events) {
    const last = pieces.at(-1)
    if (isLastEvent(event)) continue
    if (event.type !== 'text' || event.label !== 'answer') pieces.push(toStep(event))
    else if (last?.type === 'answer') last.text += event.text
    else pieces.push({ type: 'answer', text: event.text })
  }
  return pieces
}

function toStep(event: LoggedEvent): Piece {
  if (event.type === 'step_start') return { type: 'step', text: `${event.step.tool} has started.` }
  if (event.type === 'step_end') return { type: 'step', text: `${event.step.tool} has ended: ${event.step.status}.` }
  return { type: 'other' }
}

function toEndStatus(place: Place, end: EndEvent): TaskStatus {
  return toStatus(states[statusOfEnd(end.reason)], place, errorOf(end)?.body)
}

function toUpdate(place: Place, status: TaskStatus, metadata?: Record<string, unknown>): StreamResponse {
  return { payload: { $case: 'statusUpdate', value: { ...place, status, metadata } } }
}

function toArtifactUpdate(place: Place, text: string, append: boolean): StreamResponse {
  return {
    payload: { $case: 'artifactUpdate', value: { ...place, artifact: toAnswer(text), append, lastChunk: false, metadata: undefined } },
  }
}
