import { formatDuration } from '../../parts/time-format.ts'
import type { Scale } from './scale.ts'
import styles from './timeline.module.css'

/** Least distance between two marks, as a fraction of the width. */
const minDistance = 0.14

/** The head of the timeline: times since the start, and the lengths of compressed gaps. */
export function Axis({ scale }: { scale: Scale }) {
  const start = scale.stretches[0]?.start ?? 0
  return (
    <div className={styles.axis} aria-hidden="true">
      <div className={styles.track}>
        {marksOf(scale).map(({ time, position }) => (
          <span key={time} className={styles.mark} style={{ left: percent(position) }}>
            {formatDuration(time - start)}
          </span>
        ))}
        {scale.stretches
          .filter(({ isIdle }) => isIdle)
          .map((gap) => (
            <span key={gap.start} className={styles.gap} style={{ left: percent(gap.from), width: percent(gap.to - gap.from) }}>
              <span className={styles.gapLength}>{formatDuration(gap.end - gap.start)}</span>
            </span>
          ))}
      </div>
    </div>
  )
}

/** Marks at both ends and at the borders of gaps, as far as they do not touch. */
function marksOf({ stretches }: Scale): { time: number; position: number }[] {
  const marks: { time: number; position: number }[] = []
  for (const { start, from, isIdle, end, to } of stretches) {
    if (isIdle) continue
    const middle = { time: (start + end) / 2, position: (from + to) / 2 }
    const candidates = to - from > 2 * minDistance ? [{ time: start, position: from }, middle] : [{ time: start, position: from }]
    for (const mark of candidates) {
      const last = marks.at(-1)
      if ((!last || mark.position - last.position >= minDistance) && mark.position < 1 - minDistance) marks.push(mark)
    }
  }
  const last = stretches.at(-1)
  return last ? [...marks, { time: last.end, position: 1 }] : marks
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 1e4) / 100}%`
}
