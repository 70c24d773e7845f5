import { ListTasksResponse, TaskState, type ListTasksRequest, type Task } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Owner } from '../../../access/owner.ts'
import { parsePosition, toOffset } from '../../../json/offset.ts'
import type { RecentFilters, RecentPosition, RecentRun, RecentRunStore } from '../../../runs/list/recent-run-store.ts'
import type { RunStatus } from '../../../runs/run.ts'
import { isId } from '../../server/request-headers.ts'
import { states } from './tasks.ts'

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

/** JSON of a page: empty fields are present, except for artifacts that were not requested. */
export function toListJson(response: ListTasksResponse, includeArtifacts: boolean): object {
  const { tasks = [] } = ListTasksResponse.toJSON(response) as { tasks?: object[] }
  const { nextPageToken, pageSize, totalSize } = response
  return { tasks: includeArtifacts ? tasks.map((task) => ({ artifacts: [], ...task })) : tasks, nextPageToken, pageSize, totalSize }
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
