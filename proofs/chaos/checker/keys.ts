import { ofKind } from '../history/operations.ts'
import type { Facts } from './facts.ts'

/** Time within which every process refuses a revoked key. */
const boundMs = 5000

/** A key works until its revocation begins, and is refused by every process at most five seconds after the revocation was confirmed. */
export function checkKeys({ history }: Facts): string[] {
  const revocations = Map.groupBy(ofKind(history, 'revoke key'), ({ args }) => args.key)
  return ofKind(history, 'use key').flatMap(({ args: { key }, status, invokedAt, endedAt, process }) => {
    const sent = revocations.get(key) ?? []
    const confirmedAt = Math.min(...sent.filter(({ result }) => result === 'ok').map(({ endedAt }) => endedAt))
    const begunAt = Math.min(...sent.map(({ invokedAt }) => invokedAt))
    if (status === 200 && invokedAt > confirmedAt + boundMs)
      return [`key ${key}: ${process} accepts it ${Math.round(invokedAt - confirmedAt)} ms after its revocation`]
    return status === 401 && endedAt < begunAt ? [`key ${key}: ${process} refuses it, though nobody has revoked it`] : []
  })
}
