import { ownIssuer } from '../access/permissions.ts'
import type { NewRun } from '../runs/run-store.ts'
import type { Fire, Judgement, Missed, Schedule } from './schedule.ts'
import { scheduleIsBusy } from './schedule.ts'
import type { FireState, Firing, ScheduleChanges } from './schedule-store.ts'

/** A possible fire: an occurrence, the waiting occurrence, or a trigger of the owner. */
export interface Attempt {
  kind: 'occurrence' | 'queued' | 'trigger'
  scheduledFor: number
  missed: readonly Missed[]
  /** The next occurrence; absent for an attempt beside the times of the schedule. */
  next?: Judgement['next']
  /** Undefined: nothing was prepared, because the run before had not ended. */
  prepared: Prepared | undefined
}

/** The run of an attempt, or why there is none. `pauses`: the owner has to act before the next one. */
export type Prepared = { run: NewRun; refuse?: () => string | undefined } | { refused: string; pauses?: true }

interface Rules {
  /** How long the roles of a caller of an identity provider count after the last request. */
  offlineMs: number
}

/** Decides in the transaction of a firing. Undefined: prepare again, because the run before has ended meanwhile, or cancel the run before. */
export function decide(schedule: Schedule, attempt: Attempt, state: FireState, rules: Rules): Firing | undefined {
  const { kind, scheduledFor, prepared } = attempt
  const { pauseAfterFailures, overlap, queuedFor } = schedule
  const refusal = refusalOf(schedule, state, rules) ?? (prepared && 'pauses' in prepared ? prepared.refused : undefined)
  if (refusal !== undefined) return paused(schedule, attempt, state, { outcome: 'refused', reason: refusal })
  const hasFailed = pauseAfterFailures > 0 && state.failures >= pauseAfterFailures
  if (hasFailed && kind !== 'trigger') return paused(schedule, attempt, state, { outcome: 'skipped', reason: 'failures' })
  const isBusy = scheduleIsBusy(state.lastStatus) && overlap !== 'allow'
  if (isBusy && kind === 'queued') return undefined
  if (isBusy && overlap !== 'cancel_running') {
    const mayWait = overlap === 'queue' && queuedFor === undefined && schedule.status === 'active'
    if (mayWait) return moved(schedule, attempt, state, [], { queuedFor: scheduledFor })
    return moved(schedule, attempt, state, [fireOf(attempt, state, { outcome: 'skipped', reason: 'overlap' })])
  }
  if (!prepared) return undefined
  const reason = 'refused' in prepared ? prepared.refused : prepared.refuse?.()
  if (reason !== undefined || !('run' in prepared))
    return moved(schedule, attempt, state, [fireOf(attempt, state, { outcome: 'refused', reason })])
  return isBusy ? undefined : started(schedule, attempt, state, prepared.run)
}

/** Why the owner may not run anything now; undefined where the owner may. */
function refusalOf({ identity, seenAt }: Schedule, { now, isKeyRevoked }: FireState, { offlineMs }: Rules): string | undefined {
  if (identity.issuer !== ownIssuer) return now - seenAt > offlineMs ? 'owner_away' : undefined
  return isKeyRevoked || identity.expiresAt <= now ? 'key_revoked' : undefined
}

function started(schedule: Schedule, attempt: Attempt, state: FireState, run: NewRun): Firing {
  const { scheduledFor, kind } = attempt
  const fires = schedule.fires + (kind === 'trigger' ? 0 : 1)
  const last = { scheduledFor, requestId: run.requestId }
  const fire = { ...fireOf(attempt, state, { outcome: 'started' }), requestId: run.requestId }
  const firing = moved(schedule, attempt, state, [fire], { fires, last })
  const isOver = schedule.maxFires !== undefined && fires >= schedule.maxFires
  return { ...firing, changes: isOver ? { ...firing.changes, ...ended } : firing.changes, run }
}

function paused(schedule: Schedule, attempt: Attempt, state: FireState, end: Pick<Fire, 'outcome'> & { reason: string }): Firing {
  const firing = moved(schedule, attempt, state, [fireOf(attempt, state, end)])
  const others = attempt.kind === 'queued' ? [] : droppedFires(schedule, state.now)
  const changes = { ...firing.changes, ...pausedBy(end.reason), updatedAt: state.now }
  // An ended schedule stays ended.
  return { ...firing, fires: [...others, ...firing.fires], changes: firing.changes.status === 'ended' ? firing.changes : changes }
}

/** The changes of a pause: nothing follows until the schedule is resumed. */
export function pausedBy(reason: string | undefined): ScheduleChanges {
  return { status: 'paused', pauseReason: reason, nextAt: undefined, dueAt: undefined, queuedFor: undefined }
}

export const ended = { status: 'ended', pauseReason: undefined, nextAt: undefined, dueAt: undefined, queuedFor: undefined } as const

/** The row of the occurrence that has waited, where the schedule is paused, resumed or ended. */
export function droppedFires({ queuedFor }: Schedule, now: number): Fire[] {
  if (queuedFor === undefined) return []
  return [{ scheduledFor: queuedFor, firedAt: now, outcome: 'skipped', reason: 'overlap', count: 1, requestId: undefined }]
}

function fireOf(
  { scheduledFor }: Attempt,
  { now }: FireState,
  { outcome, reason }: Pick<Fire, 'outcome'> & { reason?: string | undefined },
): Fire {
  return { scheduledFor, firedAt: now, outcome, reason, count: 1, requestId: undefined }
}

/** Rows of missed occurrences. */
export function missedFires(missed: readonly Missed[], now: number): Fire[] {
  return missed.map(({ scheduledFor, count = 1 }) => ({
    scheduledFor,
    firedAt: now,
    outcome: 'missed',
    reason: undefined,
    count,
    requestId: undefined,
  }))
}

/** The schedule goes on behind the attempt. The watermark moves whatever became of the occurrence; a trigger moves nothing. */
function moved(schedule: Schedule, attempt: Attempt, { now }: FireState, fires: Fire[], changes: ScheduleChanges = {}): Firing {
  const { kind, scheduledFor, missed } = attempt
  const queuedFor = 'queuedFor' in changes ? changes.queuedFor : kind === 'queued' ? undefined : schedule.queuedFor
  const next = kind === 'occurrence' ? attempt.next : toNext(schedule)
  const watermark = kind === 'occurrence' ? { watermark: scheduledFor } : {}
  const rows = [...missedFires(missed, now), ...fires]
  const mustBeNew = kind === 'trigger'
  if (schedule.status !== 'active') return { fires: rows, changes, mustBeNew }
  return { fires: rows, changes: { ...changes, ...watermark, queuedFor, ...following(next, queuedFor, now) }, mustBeNew }
}

function toNext({ nextAt, dueAt }: Schedule): Judgement['next'] {
  return nextAt === undefined ? undefined : { at: nextAt, dueAt: dueAt ?? nextAt }
}

/** When the schedule is looked at next. A schedule without a further occurrence ends, unless one still waits for a run. */
export function following(next: Judgement['next'], queuedFor: number | undefined, now: number): ScheduleChanges {
  if (!next && queuedFor === undefined) return ended
  return { nextAt: next?.at, dueAt: queuedFor === undefined ? next?.dueAt : now }
}
