import type { Principal } from '../../access/principal.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { runKeyText } from '../run.ts'
import type { ApprovalStore, CallPosition, Excerpt, StoredCall } from './approval-store.ts'
import { excerptLimits, toCallView, type CallView } from './approval-view.ts'
import { mayDecide, toApprovalCaller } from './deciders.ts'

/** Open calls of the caller's runs, and calls of others that the caller may decide, newest first. */
export type ListApprovals = (caller: Principal, page: { limit: number; before: string | undefined }) => Promise<CallList>

export interface CallList {
  approvals: CallView[]
  count: number
  /** Position of the last call, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

interface ApprovalListDependencies {
  store: Pick<ApprovalStore, 'list' | 'excerpts'>
  now(): number
}

export function createApprovalList({ store, now }: ApprovalListDependencies): ListApprovals {
  async function excerptsOf(tenant: string, calls: readonly StoredCall[]): Promise<Map<string, Excerpt>> {
    const runs = [...new Map(calls.map((call) => [runKeyText(call), call])).values()]
    const excerpts = runs.length === 0 ? [] : await store.excerpts(tenant, runs, excerptLimits)
    return new Map(excerpts.map((excerpt) => [runKeyText(excerpt), excerpt]))
  }

  return async (caller, { limit, before }) => {
    const start = before === undefined ? undefined : (toCallPosition(before) ?? before)
    const found = await store.list(toApprovalCaller(caller), { limit: limit + 1, before: start, now: now() })
    const calls = found?.slice(0, limit)
    if (!found || !calls)
      throw invalid(
        ['query', 'before'],
        'is neither the offset of a page of this list nor the id of a call that waits or waited for approval',
      )
    const excerpts = await excerptsOf(
      caller.tenant,
      calls.filter((call) => mayDecide(caller, call)),
    )
    const approvals = calls.map((call) => toCallView(call, mayDecide(caller, call), excerpts.get(runKeyText(call))))
    const last = calls.at(-1)
    const offset = last ? toOffset([last.requestedAt, last.place, last.callId, last.requestId, last.owner]) : ''
    return { approvals, count: approvals.length, offset, has_more: found.length > limit }
  }
}

/** Undefined for a text that is not an `offset` of this list. */
function toCallPosition(offset: string): CallPosition | undefined {
  const [requestedAt, place, ...texts] = parsePosition(offset) ?? []
  if (!Number.isSafeInteger(requestedAt) || !isPlace(place)) return undefined
  const [callId, requestId, owner, ...more] = texts.filter((text) => typeof text === 'string')
  if (callId === undefined || requestId === undefined || owner === undefined || texts.length !== 3 || more.length > 0) return undefined
  return { requestedAt: Number(requestedAt), place, callId, requestId, owner }
}

/** The column of Postgres has 32 bits. */
function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31
}
