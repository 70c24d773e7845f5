import { createHash } from 'node:crypto'
import { occurrencesAfter, occurrencesUntil } from './calendar.ts'
import { maxCaughtUp, type CatchUp, type Jitter, type Judgement, type Missed, type Spec } from './schedule.ts'

/** Any policy fires an occurrence up to this delay: deploys and busy processes lose no occurrence. */
export const onTimeMs = 60_000

/** The number of missed occurrences with rows of their own. */
const maxMissedRows = 50

/** The limit of evaluated occurrences in a look. Older occurrences are not counted. */
const maxEvaluated = 1000

/**
 * Separates the occurrences after the watermark into fires and missed times. Years without a process cost as much as 1,000 occurrences:
 * the newest 50 missed times have rows of their own, and one row counts older times, up to the 1,000th.
 */
export function judge(spec: Spec, watermark: number, now: number, { policy, windowMs }: CatchUp, jitter: Jitter): Judgement {
  const [next, following] = occurrencesAfter(spec, now, 2)
  const past = occurrencesUntil(spec, watermark, now, maxEvaluated)
  const newest = past.at(-1)
  const newestDueAt = newest === undefined ? 0 : delayed(newest, next, jitter)
  const isEarly = newest !== undefined && newestDueAt > now
  const due = isEarly ? past.slice(0, -1) : past
  const lateness = (index: number) => now - (index === past.length - 1 ? newestDueAt : delayed(due[index]!, past[index + 1], jitter))
  const maxFires = policy === 'all' ? maxCaughtUp : policy === 'latest' ? 1 : 0
  const isFired = due.map((_, index) => lateness(index) < onTimeMs || (index >= due.length - maxFires && lateness(index) <= windowMs))
  return {
    fires: due.filter((_, index) => isFired[index]),
    missed: toRows(due.filter((_, index) => !isFired[index])),
    next: isEarly ? { at: newest, dueAt: newestDueAt } : toNext(next, following, jitter),
  }
}

/** The first occurrence after `after`, with the end of the jitter. */
export function nextAfter(spec: Spec, after: number, jitter: Jitter): Judgement['next'] {
  const [at, following] = occurrencesAfter(spec, after, 2)
  return toNext(at, following, jitter)
}

function toNext(at: number | undefined, following: number | undefined, jitter: Jitter): Judgement['next'] {
  return at === undefined ? undefined : { at, dueAt: delayed(at, following, jitter) }
}

/** The end of the jitter: constant for a schedule and an occurrence, and always before the following occurrence. */
function delayed(at: number, following: number | undefined, { id, ms }: Jitter): number {
  if (ms <= 0) return at
  const share = createHash('sha256').update(`${id}:${at}`).digest().readUInt32BE() / 2 ** 32
  return at + Math.floor(share * Math.min(ms, following === undefined ? ms : following - at))
}

function toRows(missed: number[]): Missed[] {
  const rows = missed.slice(-maxMissedRows).map((scheduledFor) => ({ scheduledFor }))
  const older = missed.slice(0, -maxMissedRows)
  const last = older.at(-1)
  return last === undefined ? rows : [{ scheduledFor: last, count: older.length }, ...rows]
}
