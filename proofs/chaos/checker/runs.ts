import { ofKind } from '../history/operations.ts'
import { endStateOf, mayBeDeleted, type Facts } from './facts.ts'

const endings = new Set(['success', 'error', 'cancelled', 'timeout'])

/**
 * Every acknowledged chat has ended. A confirmed cancellation is the end of the run. Exactly the asynchronous chats were called back, each under
 * one id.
 */
export function checkRuns(facts: Facts): string[] {
  return [...checkEnds(facts), ...checkCancellations(facts), ...checkCallbacks(facts)]
}

function checkEnds(facts: Facts): string[] {
  return [...facts.lastRuns.values()].flatMap(({ args: { requestId }, status, reply }) => {
    const session = facts.chats.get(requestId)?.[0]?.args.session ?? ''
    if (!facts.acknowledgedAt.has(requestId) || mayBeDeleted(facts, session)) return []
    if (!reply) return [`run ${requestId} was acknowledged, but is answered with status ${status}`]
    return endings.has(reply.state) ? [] : [`run ${requestId} is still ${reply.state}`]
  })
}

function checkCancellations(facts: Facts): string[] {
  return ofKind(facts.history, 'cancel').flatMap(({ args: { requestId }, result }) => {
    const state = endStateOf(facts, requestId)
    return result === 'ok' && state !== undefined && state !== 'cancelled' ? [`run ${requestId} was cancelled, but ended as ${state}`] : []
  })
}

function checkCallbacks(facts: Facts): string[] {
  const callbacks = Map.groupBy(ofKind(facts.history, 'callback'), ({ args }) => args.requestId)
  return [...facts.chats].flatMap(([requestId, sent]) => {
    const { mode, session } = sent[0]!.args
    const received = callbacks.get(requestId) ?? []
    if (mode !== 'async') return received.length > 0 ? [`run ${requestId} was called back, but nobody asked for it`] : []
    const isExpected = facts.acknowledgedAt.has(requestId) && !mayBeDeleted(facts, session)
    const isDelivered = received.some(({ result }) => result === 'ok')
    const ids = new Set(received.map(({ args }) => args.id))
    return [
      ...(isExpected && !isDelivered ? [`run ${requestId} was never called back`] : []),
      ...(ids.size > 1 ? [`run ${requestId} was called back under ${ids.size} ids`] : []),
    ]
  })
}
