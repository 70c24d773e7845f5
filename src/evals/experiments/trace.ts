import type { RecordedCall, RecordedReply } from '../example.ts'
import type { TraceEntry } from '../experiments.ts'

interface Recorded {
  calls: readonly RecordedCall[]
  replies: readonly RecordedReply[]
  /** Present for a replay: true for a call that the recording has answered. */
  isAnswered?(callId: string): boolean
}

/** The replies of models in order, each with its calls. Calls of no known reply stand at the end. */
export function toTrace({ calls, replies, isAnswered }: Recorded): TraceEntry[] {
  const byId = new Map(calls.flatMap((call) => (call.step ? [[call.step.id, call] as const] : [])))
  const parts = replies.flatMap((reply): (RecordedReply | RecordedCall)[] => {
    const requested = reply.calls.flatMap(({ id }) => (id === undefined ? [] : (byId.get(id) ?? [])))
    return [reply, ...requested]
  })
  const placed = new Set(parts)
  const all = [...parts, ...calls.filter((call) => !placed.has(call))]
  const numbers = new Map(all.flatMap((part, index) => ('tool' in part ? [[part.n, index + 1] as const] : [])))
  return all.map((part, index) => {
    const place = { n: index + 1, parent: part.parent === null ? null : (numbers.get(part.parent) ?? null) }
    if (!('tool' in part)) return { ...place, kind: 'reply', text: part.text }
    const { tool, tool_input: input, output, status, effect, decision, step } = part
    const recorded = step && isAnswered?.(step.id)
    const call = { tool, toolInput: decision?.input ?? input, output, status, effect }
    return { ...place, kind: 'call', ...call, ...(recorded !== undefined && { recorded }) }
  })
}
