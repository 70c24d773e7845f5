import { approvedOperation, ofKind } from '../history/operations.ts'
import { endStateOf, type Facts } from './facts.ts'

/**
 * Writes are made at most once, and calls with required approval only after the approval. A successful run has made its approved call exactly
 * once, or reports the outcome of the call as unknown.
 */
export function checkEffects(facts: Facts): string[] {
  const effects = Map.groupBy(ofKind(facts.history, 'effect'), ({ args }) => `${args.requestId} ${args.operation}`)
  const anomalies = [...effects].flatMap(([name, operations]) => {
    const { requestId, operation } = operations[0]!.args
    const kind = facts.chats.get(requestId)?.[0]?.args.kind
    const isWanted = kind && (approvedOperation[kind] === operation || (operation === 'record' && (kind === 'write' || kind === 'both')))
    if (!isWanted) return [`${name}: was made without a call for it`]
    return operations.length > 1
      ? [`${name}: was made ${operations.length} times, under ${new Set(operations.map(({ args }) => args.key)).size} keys`]
      : []
  })
  return [...anomalies, ...checkApprovals(facts, effects)]
}

function checkApprovals(facts: Facts, effects: ReadonlyMap<string, readonly { invokedAt: number }[]>): string[] {
  const decisions = Map.groupBy(ofKind(facts.history, 'decide'), ({ args }) => args.requestId)
  return [...facts.chats].flatMap(([requestId, sent]) => {
    const operation = approvedOperation[sent[0]!.args.kind]
    if (!operation) return []
    const approvals = (decisions.get(requestId) ?? []).filter(({ args, result }) => args.decision === 'approve' && result !== 'fail')
    const operations = effects.get(`${requestId} ${operation}`) ?? []
    const approvedFrom = Math.min(...approvals.map(({ invokedAt }) => invokedAt))
    if (operations.some(({ invokedAt }) => invokedAt < approvedFrom)) return [`${requestId} ${operation}: was made before an approval`]
    const isApproved = approvals.some(({ result }) => result === 'ok')
    const hasSucceeded = endStateOf(facts, requestId) === 'success'
    const isUnknown = facts.lastRuns.get(requestId)?.reply?.hasUnknownOutcome === true
    return isApproved && hasSucceeded && operations.length === 0 && !isUnknown
      ? [`${requestId} ${operation}: was approved, but not made`]
      : []
  })
}
