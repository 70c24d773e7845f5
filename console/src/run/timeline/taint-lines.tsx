import type { Interval, Scale } from './scale.ts'
import { percent } from './axis.tsx'
import type { Span } from '../queries.ts'
import type { TaintLine } from './taint.ts'
import styles from './timeline.module.css'

/** Lines that are drawn at once: a long run may have thousands. */
const maxLines = 300

interface TaintLinesProps {
  lines: readonly TaintLine[]
  scale: Scale
  intervalOf: (span: Span) => Interval
  /** The middle of a row, in pixels from the first. */
  heightOf: (row: number) => number
  /** The first and the last row in view. */
  range: { first: number; last: number }
}

/** Lines from the calls that returned text of strangers to the calls that came after, over the bars. Details say the same in words. */
export function TaintLines({ lines, scale, intervalOf, heightOf, range: { first, last } }: TaintLinesProps) {
  const visible = lines.filter(({ sourceRow, sinkRow }) => sourceRow <= last && sinkRow >= first).slice(0, maxLines)
  if (visible.length === 0) return null
  return (
    <div className={styles.lines} aria-hidden="true">
      <div className={styles.lineTrack}>
        {visible.map(({ source, sink, sourceRow, sinkRow }) => {
          const start = scale.place(intervalOf(source).end)
          const end = Math.max(start, scale.place(intervalOf(sink).start))
          const top = heightOf(sourceRow)
          return (
            <span
              key={`${source.id} ${sink.id}`}
              className={styles.line}
              data-source={source.name}
              data-sink={sink.name}
              style={{ left: percent(start), width: percent(end - start), top, height: heightOf(sinkRow) - top }}
            />
          )
        })}
      </div>
    </div>
  )
}
