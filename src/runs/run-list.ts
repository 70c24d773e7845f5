import { issuerOf, subOf, type Owner } from '../access/owner.ts'
import { isAdmin, type Principal } from '../access/permissions.ts'
import { invalid, type ErrorBody } from '../errors.ts'
import { parseRowPosition, toOffset, type RowPosition } from '../json/offset.ts'
import type { Operation, RunStatus, RunKey } from './run.ts'
import type { StoredRun } from './run-store.ts'

/** Port: the runs of a tenant as a list, newest first. Direct tool executions and removed runs are not listed. */
export interface RunListStore {
  list(caller: Owner, page: RunPage): Promise<ListedRun[]>
}

/** Undefined filters select every run. */
export interface RunFilters {
  status: RunStatus | undefined
  sessionId: string | undefined
  operation: Operation | undefined
  /** The `sub` of the owner, of any issuer. */
  sub: string | undefined
  /** Selects ended runs that have called the tool. */
  tool: string | undefined
  /** True: ended runs in which a tool call has failed; false: the other runs. */
  toolErrors: boolean | undefined
  /** Version of the configuration. */
  version: string | undefined
  /** Bounds of the time of acceptance, in epoch milliseconds: `since` inclusive, `until` exclusive. */
  since: number | undefined
  until: number | undefined
}

/** Selects every run. */
export const noFilters: RunFilters = {
  status: undefined,
  sessionId: undefined,
  operation: undefined,
  sub: undefined,
  tool: undefined,
  toolErrors: undefined,
  version: undefined,
  since: undefined,
  until: undefined,
}

export interface RunPage extends RunFilters {
  limit: number
  /** True for the runs of all owners in the tenant. */
  anyOwner: boolean
  /** The last run of the page before. */
  before: RowPosition | undefined
}

export interface ListedRun extends RunKey {
  sessionId: string
  /** The run whose undelivered message this run answers. */
  continues: string | undefined
  operation: Operation
  status: RunStatus
  /** Epoch milliseconds. */
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
  /** The start of the human message; undefined for runs of versions that did not store the text. */
  input: string | undefined
  tokens: number
  /** USD. */
  cost: number | undefined
  /** Failed tool calls. */
  toolErrors: number
  error: ErrorBody | undefined
  configVersion: string | undefined
}

export interface RunListQuery extends RunFilters {
  limit: number
  before: string | undefined
  /** True: own runs alone, whatever the caller may read. */
  ownOnly?: boolean
}

/** Lists runs: own runs, and with `observability.read` the runs of the tenant. Throws a validation error for an unknown `before`. */
export type ListRuns = (caller: Principal, query: RunListQuery) => Promise<RunListView>

/** JSON view of a run in a list. Values of runs that have not ended are null, and their tokens 0. */
export interface ListedRunView {
  request_id: string
  session_id: string
  issuer: string
  sub: string
  operation: Operation
  /** Present for the run of a schedule. */
  schedule_id?: string
  status: RunStatus
  created_at: string
  started_at: string | null
  ended_at: string | null
  /** Null for readers who are neither the owner nor an administrator. */
  input: string | null
  tokens: number
  cost: number | null
  tool_errors: number
  error_type: string | null
  config_version: string | null
  continues?: string
}

export interface RunListView {
  runs: ListedRunView[]
  /** Position of the last run, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

export function createRunList(store: RunListStore): ListRuns {
  return async (caller, { limit, before, ownOnly = false, ...filters }) => {
    const anyOwner = !ownOnly && caller.permissions.has('observability.read')
    const position = before === undefined ? undefined : parseRowPosition(before)
    if (before !== undefined && !position) throw invalid(['query', 'before'], 'is not the offset of a page of this list')
    const found = await store.list(caller, { ...filters, anyOwner, before: position, limit: limit + 1 })
    const runs = found.slice(0, limit)
    const last = runs.at(-1)
    return {
      runs: runs.map((run) => toListedRunView(run, run.owner === caller.owner || isAdmin(caller))),
      offset: last ? toOffset([last.createdAt, last.requestId, last.owner]) : '',
      has_more: found.length > limit,
    }
  }
}

function toListedRunView(run: ListedRun, showsInput: boolean): ListedRunView {
  const { createdAt, startedAt, endedAt } = run
  const hasEnded = endedAt !== undefined
  return {
    request_id: run.requestId,
    session_id: run.sessionId,
    issuer: issuerOf(run),
    sub: subOf(run),
    operation: run.operation,
    ...(run.operation === 'schedule' ? { schedule_id: run.requestId.split(':')[1] ?? '' } : {}),
    status: run.status,
    created_at: new Date(createdAt).toISOString(),
    started_at: run.status === 'pending' || startedAt === undefined ? null : new Date(startedAt).toISOString(),
    ended_at: hasEnded ? new Date(endedAt).toISOString() : null,
    input: showsInput ? (run.input ?? null) : null,
    tokens: hasEnded ? run.tokens : 0,
    cost: hasEnded ? (run.cost ?? null) : null,
    tool_errors: hasEnded ? run.toolErrors : 0,
    error_type: hasEnded ? (run.error?.details?.error_type ?? null) : null,
    config_version: run.configVersion ?? null,
    ...(run.continues === undefined ? {} : { continues: run.continues }),
  }
}

/** Finds runs by the caller's own session, for clients that know a conversation but no run. */
export interface SessionRuns {
  /** The newest run of the session, of this status if one is given; undefined for none. */
  newest(caller: Owner, sessionId: string, status?: RunStatus): Promise<ListedRun | undefined>
  /** At most `limit` runs of the session, newest first. */
  list(caller: Owner, sessionId: string, page: { limit: number; status?: RunStatus | undefined }): Promise<ListedRun[]>
}

export function createSessionRuns(store: RunListStore): SessionRuns {
  const list: SessionRuns['list'] = (caller, sessionId, { limit, status }) =>
    store.list(caller, { ...noFilters, sessionId, status, limit, anyOwner: false, before: undefined })
  return { list, newest: async (caller, sessionId, status) => (await list(caller, sessionId, { limit: 1, status }))[0] }
}

/**
 * Port: the runs of one caller, last changed first. A run changes when it is accepted, starts, waits for decisions, and ends. Direct tool
 * executions and removed runs are left out.
 */
export interface RecentRunStore {
  list(caller: Owner, page: RecentPage): Promise<RecentRun[]>
  /** Number of runs that match the filters, at most `maxCounted`. */
  count(caller: Owner, filters: RecentFilters): Promise<number>
}

/** Counting is bounded, because a caller may have millions of runs. */
export const maxCounted = 10_000

/** Undefined filters select every run. */
export interface RecentFilters {
  statuses: readonly RunStatus[] | undefined
  sessionId: string | undefined
  /** Runs that changed at this time or later, in epoch milliseconds. */
  changedSince: number | undefined
}

export interface RecentPage extends RecentFilters {
  limit: number
  /** The last run of the page before. */
  before: RecentPosition | undefined
}

export interface RecentPosition {
  /** Epoch milliseconds. */
  changedAt: number
  requestId: string
}

export interface RecentRun extends RecentPosition {
  run: StoredRun
}
