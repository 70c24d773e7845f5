import { toLocalTime } from '../json/time.ts'
import { cronOf, isFixed, occurrencesAfter } from './calendar.ts'
import type { OccurrenceNote, Spec } from './schedule.ts'

/** A time for callers. */
export interface PreviewedTime {
  /** ISO 8601 in UTC. */
  at: string
  /** ISO 8601 on the clocks of the zone. */
  local: string
  note?: OccurrenceNote
}

/** The next times after `after`, with notes where the clocks of the zone change. */
export function previewOf(spec: Spec, after: number, count: number): PreviewedTime[] {
  const zone = spec.timezone ?? 'UTC'
  const cron = spec.cron !== undefined && isFixed(spec.cron) ? cronOf(spec) : undefined
  return occurrencesAfter(spec, after, count).map((time) => {
    const at = new Date(time)
    const view = { at: toText(at), local: toLocalTime(time, zone)?.time ?? toText(at) }
    if (cron && !cron.match(at)) return { ...view, note: 'moved_by_dst' }
    return cron && isFirstOfTwo(time, zone) ? { ...view, note: 'second_of_two_skipped' } : view
  })
}

function toText(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z')
}

/** The clocks of no zone are put back by more than 3 hours at a time. */
const longestChangeMs = 3 * 3_600_000

/** True where the clocks show the same time once more, after they were put back. */
function isFirstOfTwo(time: number, zone: string): boolean {
  const setBackMs = offsetAt(time, zone) - offsetAt(time + longestChangeMs, zone)
  return setBackMs > 0 && offsetAt(time + setBackMs, zone) === offsetAt(time, zone) - setBackMs
}

/** Milliseconds by which the clocks of the zone are ahead of UTC. */
function offsetAt(time: number, zone: string): number {
  const local = toLocalTime(time, zone)?.time.slice(0, 19)
  return local === undefined ? 0 : Date.parse(`${local}Z`) - Math.floor(time / 1000) * 1000
}
