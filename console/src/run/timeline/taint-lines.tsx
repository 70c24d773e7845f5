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
  /** The first and the last row that are drawn. */
  drawn: { first: number; last: number }
}

/** Lines from the calls that returned text of strangers to the calls that came after, over the bars. Details say the same in words. */
export function TaintLines({ lines, scale, intervalOf, heightOf, drawn: { first, last } }: TaintLinesProps) {
  const shown = lines.filter(({ from, to }) => from <= last && to >= first).slice(0, maxLines)
  if (shown.length === 0) return null
  return (
    <div className={styles.lines} aria-hidden="true">
      <div className={styles.lineTrack}>
        {shown.map(({ source, sink, from, to }) => {
          const start = scale.place(intervalOf(source).end)
          const end = Math.max(start, scale.place(intervalOf(sink).start))
          const top = heightOf(from)
          return (
            <span
              key={`${source.id} ${sink.id}`}
              className={styles.line}
              data-source={source.name}
              data-sink={sink.name}
              style={{ left: percent(start), width: percent(end - start), top, height: heightOf(to) - top }}
            />
          )
        })}
      </div>
    </div>
  )
}
