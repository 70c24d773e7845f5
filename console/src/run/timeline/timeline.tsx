import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useState } from 'react'
import type { RunKey, Span, Trace } from '../queries.ts'
import { SpanDetails } from '../details/span-details.tsx'
import { Axis } from './axis.tsx'
import { createScale } from './scale.ts'
import { SpanRow } from './span-row.tsx'
import { TaintLines } from './taint-lines.tsx'
import { taintedSpans, taintLines } from './taint.ts'
import { toRows, toTree } from './tree.ts'
import { intervalOf, workOf } from './work.ts'
import styles from './timeline.module.css'

const rowHeight = 32

interface TimelineProps {
  run: RunKey
  trace: Trace
  /** Time of loading the trace, in epoch milliseconds: unfinished spans end at this time. */
  loadedAt: number
}

/** The trace of a run as a tree and a timeline: a row for each span, details inline. */
export function Timeline({ run, trace, loadedAt }: TimelineProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [target, setTarget] = useState<{ id: string }>()
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const { tree, scale } = useMemo(() => layOut(trace.spans, loadedAt), [trace, loadedAt])
  const rows = useMemo(() => toRows(tree, closed), [tree, closed])
  const tainted = useMemo(() => taintedSpans(trace.spans), [trace])
  const lines = useMemo(() => taintLines(tainted, rows, trace.spans), [tainted, rows, trace])
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]!.span.id,
    overscan: 16,
  })
  useEffect(() => {
    if (target) virtualizer.scrollToIndex(rows.findIndex(({ span }) => span.id === target.id))
    // Rows that change later leave the scroll position alone.
  }, [target])
  const items = virtualizer.getVirtualItems()
  const show = ({ id }: Span): void => {
    const foldedIds = new Set(closed)
    for (const ancestor of ancestorsOf(id, trace.spans)) foldedIds.delete(ancestor)
    setClosed(foldedIds)
    setOpen(new Set([...open, id]))
    setTarget({ id })
  }
  return (
    <section className={styles.timeline} aria-label="Timeline">
      <Axis scale={scale} />
      <div ref={setScroller} className={styles.scroller}>
        <div className={styles.body}>
          <ol className={styles.rows} style={{ height: virtualizer.getTotalSize() }}>
            {items.map(({ key, index, start }) => {
              const { span, depth, children } = rows[index]!
              const isOpen = open.has(span.id)
              return (
                <li
                  key={key}
                  data-index={index}
                  ref={virtualizer.measureElement}
                  className={styles.place}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <SpanRow
                    span={span}
                    depth={depth}
                    scale={scale}
                    interval={intervalOf(span, loadedAt)}
                    isOpen={isOpen}
                    onOpen={() => setOpen(toggled(open, span.id))}
                    isClosed={children.length === 0 ? undefined : closed.has(span.id)}
                    onClose={() => setClosed(toggled(closed, span.id))}
                  />
                  {isOpen && <SpanDetails run={run} span={span} tainted={tainted.get(span.id)} show={show} />}
                </li>
              )
            })}
          </ol>
          <TaintLines
            lines={lines}
            scale={scale}
            intervalOf={(span) => intervalOf(span, loadedAt)}
            heightOf={(row) => (virtualizer.measurementsCache[row]?.start ?? 0) + rowHeight / 2}
            range={{ first: items[0]?.index ?? 0, last: items.at(-1)?.index ?? 0 }}
          />
        </div>
      </div>
    </section>
  )
}

function layOut(spans: readonly Span[], now: number) {
  const whole = spans[0] ? intervalOf(spans[0], now) : { start: now, end: now }
  return { tree: toTree(spans), scale: createScale(whole, workOf(spans, now)) }
}

function ancestorsOf(id: string, spans: readonly Span[]): Set<string> {
  const parents = new Map(spans.map((span) => [span.id, span.parent_id]))
  const ancestors = new Set<string>()
  for (let at = parents.get(id); at != null && !ancestors.has(at); at = parents.get(at)) ancestors.add(at)
  return ancestors
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const changed = new Set(ids)
  if (!changed.delete(id)) changed.add(id)
  return changed
}
