import type { Span } from '../queries.ts'
import type { Interval } from './scale.ts'

/** Kinds of spans that do work. Other kinds enclose work, or wait. */
const working: ReadonlySet<Span['kind']> = new Set(['model', 'tool', 'sub_agent'])

/** Time of a span in epoch milliseconds; an unfinished span ends `now`. */
export function intervalOf({ started_at: start, ended_at: end }: Pick<Span, 'started_at' | 'ended_at'>, now: number): Interval {
  const from = Date.parse(start)
  return { start: from, end: end === null ? Math.max(from, now) : Date.parse(end) }
}

/** The times in which a model, a tool or a sub-agent worked. */
export function workOf(spans: readonly Span[], now: number): Interval[] {
  const hasInnerSpans = new Set(spans.map(({ parent_id: parent }) => parent))
  const leaves = spans.filter(({ kind, id }) => working.has(kind) && !(kind === 'sub_agent' && hasInnerSpans.has(id)))
  return leaves.map((span) => intervalOf(span, now))
}
