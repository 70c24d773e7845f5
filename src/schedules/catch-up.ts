import { createHash } from 'node:crypto'
import { occurrencesAfter, occurrencesUntil } from './calendar.ts'
import { maxCaughtUp, type CatchUp, type Jitter, type Judgement, type Missed, type Spec } from './schedule.ts'

/** An occurrence that is evaluated sooner than this after its time is fired by each policy: deploys and busy processes lose none. */
export const onTimeMs = 60_000

/** The newest missed occurrences have a row each. */
const maxMissedRows = 50

/** The most occurrences that one look evaluates one by one. Those before them are counted no more. */
const maxEvaluated = 1000

/**
 * Which occurrences after the watermark fire now, and which are missed. After years without a process the work is the same as after
 * 1,000 occurrences: the newest 50 missed ones have a row each, the row before them stands for the others, of which at most 1,000 are counted.
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

/** The first occurrence after `after`, and when its jitter lets it fire. */
export function nextAfter(spec: Spec, after: number, jitter: Jitter): Judgement['next'] {
  const [at, following] = occurrencesAfter(spec, after, 2)
  return toNext(at, following, jitter)
}

function toNext(at: number | undefined, following: number | undefined, jitter: Jitter): Judgement['next'] {
  return at === undefined ? undefined : { at, dueAt: delayed(at, following, jitter) }
}

/** The same delay each time for the same schedule and occurrence, and never up to the following occurrence. */
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
