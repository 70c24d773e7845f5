import {
  Role,
  TaskState,
  type Artifact,
  type Message,
  type Part,
  type Task,
  type TaskStatus,
  ListTasksResponse,
  type ListTasksRequest,
} from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Owner } from '../../../access/owner.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import type { Artifact as MadeFile, JsonValue } from '../../../agent/messages.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import { isOfBudget, type ErrorBody } from '../../../errors.ts'
import { parsePosition, toOffset } from '../../../json/offset.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { storedEvents } from '../../../runs/parts.ts'
import type { RecentFilters, RecentPosition, RecentRun, RecentRunStore } from '../../../runs/run-list.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import { toRunView } from '../../../runs/run-view.ts'
import type { LoggedEvent, RunStatus } from '../../../runs/run.ts'
import { isId } from '../../server/request-headers.ts'
import { waitingParts } from './decisions.ts'
import { dataPart, textPart } from './message.ts'

export const states: Record<RunStatus, TaskState> = {
  pending: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  interrupted: TaskState.TASK_STATE_INPUT_REQUIRED,
  success: TaskState.TASK_STATE_COMPLETED,
  error: TaskState.TASK_STATE_FAILED,
  timeout: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
}

/** The ids of a task and its context, as messages and updates carry them. */
export interface TaskRef {
  taskId: string
  contextId: string
}

/** Id of the artifact with the text of the answer. */
export const answerId = 'answer'

/** Creates links to files. Undefined if the key lacks the permission; files are left out then. */
export type FileLinks = Pick<Artifacts, 'toAnswerFiles'> | undefined

interface ReadOptions {
  links: FileLinks
  openCalls: Pick<ApprovalStore, 'ofRun'>
}

/** The current task of a stored run. */
export async function readTask(run: StoredRun, { links, openCalls }: ReadOptions): Promise<Task> {
  if (run.status !== 'interrupted') return toTask(run, { links, open: [] })
  const calls = await openCalls.ofRun(run)
  const open = calls.filter(({ decision }) => decision === undefined)
  return toTask(run, { links, open, changedAt: calls.at(-1)?.requestedAt })
}

interface TaskOptions {
  links: FileLinks
  /** The calls that the run waits for. */
  open: readonly PendingCall[]
  /** Epoch milliseconds; default: the end, the start or the acceptance of the run. */
  changedAt?: number | undefined
}

/** Converts a stored run to a task. */
async function toTask(run: StoredRun, { links, open, changedAt }: TaskOptions): Promise<Task> {
  const { status, outcome, error, created_at, started_at, ended_at } = toRunView(run)
  const timestamp = changedAt === undefined ? (ended_at ?? started_at ?? created_at) : new Date(changedAt).toISOString()
  const taskRef = { taskId: run.requestId, contextId: run.sessionId }
  const question = outcome?.input ?? run.request?.messages.at(-1)?.content ?? run.log?.input
  const answer = outcome ? [toAnswer(outcome.output, outcome.structured_output)] : []
  const files = run.endedAt === undefined ? [] : await withLinks(run, filesOf(storedEvents(run)), links)
  const state = status === 'interrupted' ? toWaitingStatus(taskRef, open) : toEndStatus(states[status], taskRef, error)
  return {
    ...newTask(taskRef, question ?? ''),
    status: { ...state, timestamp },
    artifacts: [...answer, ...toFileArtifacts(files)],
  }
}

/** The status of an interrupted task. The message contains the pending calls and how to decide them. */
export function toWaitingStatus(taskRef: TaskRef, calls: readonly PendingCall[]): TaskStatus {
  const id = `${taskRef.taskId}:approval:${calls.map(({ callId }) => callId).join(':')}`
  const message = toMessage(taskRef, { role: Role.ROLE_AGENT, id, parts: waitingParts(taskRef.taskId, calls) })
  return { state: TaskState.TASK_STATE_INPUT_REQUIRED, message, timestamp: undefined }
}

/** The task with which a stream begins. */
export function newTask({ taskId, contextId }: TaskRef, question: string): Task {
  const history = [toMessage({ taskId, contextId }, { role: Role.ROLE_USER, id: `${taskId}:question`, parts: [textPart(question)] })]
  const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined }
  return { id: taskId, contextId, status, artifacts: [], history, metadata: undefined }
}

/** A task status. `text` becomes a message of the agent; `number` makes the ids of several messages unique. */
export function toStatus(state: TaskState, taskRef: TaskRef, text: string | undefined, number = 0): TaskStatus {
  const id = `${taskRef.taskId}:status:${number}`
  return {
    state,
    message: text === undefined ? undefined : toMessage(taskRef, { role: Role.ROLE_AGENT, id, parts: [textPart(text)] }),
    timestamp: undefined,
  }
}

/** The status of an ended task. The message has the fields of a budget's error as metadata. */
export function toEndStatus(state: TaskState, taskRef: TaskRef, error: ErrorBody | undefined): TaskStatus {
  const status = toStatus(state, taskRef, error?.body)
  if (error && status.message && isOfBudget(error)) status.message.metadata = error.details
  return status
}

/** The answer as text, and a structured answer as data too. */
export function toAnswer(text: string, structured?: JsonValue): Artifact {
  return toAnswerArtifact([textPart(text), ...(structured === undefined ? [] : [dataPart(structured)])])
}

export function toAnswerArtifact(parts: Part[]): Artifact {
  return { artifactId: answerId, name: answerId, description: '', parts, metadata: undefined, extensions: [] }
}

/** The files that tools made. */
export function filesOf(events: readonly LoggedEvent[]): MadeFile[] {
  return events.flatMap((event) => (event.type === 'step_end' ? (event.step.artifacts ?? []) : []))
}

/** Files of a run with short-lived links; none for a caller without `links`. */
export async function withLinks(
  { session }: Pick<StoredRun, 'session'>,
  made: readonly MadeFile[],
  links: FileLinks,
): Promise<AnswerFile[]> {
  return session === undefined || !links ? [] : links.toAnswerFiles({ folder: session, made }, true)
}

/** Files as artifacts; a file without a link is none. */
export function toFileArtifacts(files: readonly AnswerFile[]): Artifact[] {
  return files.flatMap(({ artifact_id: artifactId, file_name: name, file_type: mediaType, download_url: url }): Artifact[] => {
    if (url === undefined) return []
    const parts = [{ content: { $case: 'url' as const, value: url }, metadata: undefined, filename: name, mediaType }]
    return [{ artifactId, name, description: '', parts, metadata: undefined, extensions: [] }]
  })
}

function toMessage({ taskId, contextId }: TaskRef, { role, id, parts }: { role: Role; id: string; parts: Part[] }): Message {
  const rest = { metadata: undefined, extensions: [], referenceTaskIds: [] }
  return { messageId: id, contextId, taskId, role, parts, ...rest }
}

const defaultPageSize = 50
const maxPageSize = 100

export interface TaskListServices {
  recentRuns: RecentRunStore
  /** Converts a run of the page. */
  toTask(recent: RecentRun): Promise<Task>
}

/** A page of the caller's tasks, last changed first (A2A 1.0, 3.1.4). Throws `RequestMalformedError` for a request that cannot be read. */
export async function listTasks(
  caller: Owner,
  request: ListTasksRequest,
  { recentRuns, toTask }: TaskListServices,
): Promise<ListTasksResponse> {
  const pageSize = request.pageSize ?? defaultPageSize
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > maxPageSize)
    throw new RequestMalformedError(`pageSize must be a whole number from 1 to ${maxPageSize}.`)
  const filters = toFilters(request)
  const before = request.pageToken === '' ? undefined : toPosition(request.pageToken)
  const [recent, totalSize] = await Promise.all([
    recentRuns.list(caller, { ...filters, before, limit: pageSize + 1 }),
    recentRuns.count(caller, filters),
  ])
  const page = recent.slice(0, pageSize)
  const tasks = await Promise.all(page.map(toTask))
  const last = recent.length > pageSize ? page.at(-1) : undefined
  return {
    tasks: tasks.map((task) => (request.includeArtifacts === true ? task : { ...task, artifacts: [] })),
    nextPageToken: last ? toOffset([last.changedAt, last.requestId]) : '',
    pageSize,
    totalSize,
  }
}

function toFilters({ contextId, status, statusTimestampAfter, historyLength }: ListTasksRequest): RecentFilters {
  checkHistoryLength(historyLength)
  if (contextId !== '' && !isId(contextId)) throw new RequestMalformedError('contextId is not a valid id.')
  const changedSince = statusTimestampAfter ? Date.parse(statusTimestampAfter) : undefined
  if (changedSince !== undefined && !Number.isSafeInteger(changedSince))
    throw new RequestMalformedError('statusTimestampAfter must be a time such as 2026-11-22T08:00:00Z.')
  return { sessionId: contextId === '' ? undefined : contextId, statuses: toStatuses(status), changedSince }
}

/** Throws unless the length is absent, or a whole number that is not negative. */
export function checkHistoryLength(historyLength: number | undefined): void {
  if (historyLength !== undefined && !(Number.isInteger(historyLength) && historyLength >= 0))
    throw new RequestMalformedError('historyLength must be a whole number that is not negative.')
}

function toStatuses(state: TaskState): RunStatus[] | undefined {
  if (state === TaskState.TASK_STATE_UNSPECIFIED) return undefined
  if (state === TaskState.UNRECOGNIZED) throw new RequestMalformedError('status must be a state such as TASK_STATE_COMPLETED.')
  return (Object.keys(states) as RunStatus[]).filter((status) => states[status] === state)
}

function toPosition(token: string): RecentPosition {
  const [changedAt, requestId, ...more] = parsePosition(token) ?? []
  if (!Number.isSafeInteger(changedAt) || !isId(requestId) || more.length > 0)
    throw new RequestMalformedError('pageToken must be the nextPageToken of a page of this list.')
  return { changedAt: Number(changedAt), requestId }
}
