import type { JsonValue } from '../../agent/messages.ts'
import { toStableJson } from '../../configuration/parse.ts'
import { whole, type Measured, type ScorerKind, type Subject } from './scorer.ts'

/** Calls that are compared: the comparison takes time in proportion to the product of both numbers. */
const maxCalls = 500

/** The share of calls that are as expected: in their order, or in any. Mocked calls count as all calls do. */
export function trajectory(
  { tools, ordered = true, inputs = 'ignore' }: Extract<ScorerKind, { kind: 'trajectory' }>,
  subject: Subject,
): Measured {
  const keyOf = (call: { tool: string; tool_input: JsonValue }) =>
    inputs === 'exact' && !tools ? toStableJson([call.tool, call.tool_input]) : call.tool
  const wanted = (tools ?? subject.recordedCalls.map(keyOf)).slice(0, maxCalls)
  const made = subject.calls.map(keyOf).slice(0, maxCalls)
  const most = Math.max(wanted.length, made.length)
  if (most === 0) return whole
  const score = (ordered ? longestCommon(wanted, made) : commonIn(wanted, made)) / most
  const names = subject.calls.map(({ tool }) => tool).slice(0, 20)
  return score === 1 ? whole : { score, reason: `The calls were: ${names.join(', ') || 'none'}.` }
}

function longestCommon(a: readonly string[], b: readonly string[]): number {
  let lengths = [0, ...b.map(() => 0)]
  for (const item of a) {
    const next = [0]
    for (const [at, other] of b.entries()) next.push(item === other ? lengths[at]! + 1 : Math.max(lengths[at + 1]!, next[at]!))
    lengths = next
  }
  return lengths.at(-1)!
}

function commonIn(a: readonly string[], b: readonly string[]): number {
  const rest = Map.groupBy(a, (item) => item)
  return b.filter((item) => rest.get(item)?.pop() !== undefined).length
}
