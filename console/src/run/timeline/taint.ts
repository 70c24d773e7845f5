import type { Span } from '../queries.ts'

/** A span whose model was shown text of strangers before, and the calls that had returned the text. */
export interface TaintedSpan {
  span: Span
  /** Calls of this run, in the order of the trace. */
  sources: Span[]
  /** Number of sources outside of the run: earlier answers, memories, files. */
  elsewhere: number
}

/** The sinks of a trace with their sources. An approval stands for its call only while the call has no sources of its own. */
export function taintedSpans(spans: readonly Span[]): Map<string, TaintedSpan> {
  const byId = new Map(spans.map((span) => [span.id, span]))
  const tainted = new Map<string, TaintedSpan>()
  for (const span of spans) {
    const { tainted_by: ids, tool_call_id: call } = span.attributes
    if (!ids || (call !== undefined && byId.get(call)?.attributes.tainted_by)) continue
    const sources = ids.flatMap((id) => byId.get(id) ?? [])
    tainted.set(span.id, { span, sources, elsewhere: ids.length - sources.length })
  }
  return tainted
}

/** A row of the timeline, as far as lines need one. */
interface LineRow {
  span: Pick<Span, 'id' | 'parent_id'>
}

/** A line from a source to a sink, by the numbers of their rows. */
export interface TaintLine {
  source: Span
  sink: Span
  sourceRow: number
  sinkRow: number
}

/** The lines between rows. A span below a closed row is drawn at that row. */
export function taintLines(tainted: ReadonlyMap<string, TaintedSpan>, rows: readonly LineRow[], spans: readonly Span[]): TaintLine[] {
  if (tainted.size === 0) return []
  const places = new Map(rows.map(({ span: { id } }, index) => [id, index]))
  const parents = new Map(spans.map(({ id, parent_id: parent }) => [id, parent]))
  const rowOf = (id: string): number | undefined => {
    const seen = new Set<string>()
    for (let at: string | null | undefined = id; at != null && !seen.has(at); at = parents.get(at)) {
      const place = places.get(at)
      if (place !== undefined) return place
      seen.add(at)
    }
    return undefined
  }
  return [...tainted.values()].flatMap(({ span: sink, sources }) =>
    sources.flatMap((source) => {
      const [sourceRow, sinkRow] = [rowOf(source.id), rowOf(sink.id)]
      return sourceRow === undefined || sinkRow === undefined || sourceRow >= sinkRow ? [] : [{ source, sink, sourceRow, sinkRow }]
    }),
  )
}
