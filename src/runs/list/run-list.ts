import { issuerOf, subOf } from '../../access/owner.ts'
import { isAdmin, type Principal } from '../../access/permissions.ts'
import { invalid } from '../../errors.ts'
import { parseRowPosition, toOffset } from '../../json/offset.ts'
import type { Operation, RunStatus } from '../run.ts'
import type { ListedRun, RunFilters, RunListStore } from './run-list-store.ts'

/** JSON view of a run in a list. Values of runs that have not ended are null, and their tokens 0. */
export interface ListedRunView {
  request_id: string
  session_id: string
  issuer: string
  sub: string
  operation: Operation
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
}

export interface RunListView {
  runs: ListedRunView[]
  /** Position of the last run, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

export interface RunListQuery extends RunFilters {
  limit: number
  before: string | undefined
  /** True: own runs alone, whatever the caller may read. */
  ownOnly?: boolean
}

/** Lists runs: own runs, and with `observability.read` the runs of the tenant. Throws a validation error for an unknown `before`. */
export type ListRuns = (caller: Principal, query: RunListQuery) => Promise<RunListView>

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
  }
}
