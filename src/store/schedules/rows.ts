import type { RunStatus } from '../../runs/run.ts'
import type { Fire, FireOutcome, ListedFire, ReadSchedule, Schedule, ScheduleSettings, ScheduleStatus } from '../../schedules/schedule.ts'
import type { ScheduleChanges } from '../../schedules/schedule-store.ts'
import type { ScheduleFireRow, ScheduleRow } from '../tables.ts'

/** Conversions between rows and the types of schedules. */

type ReadRow = ScheduleRow & { last_status: string | null }

export function toSchedule(row: ReadRow): ReadSchedule {
  const { last_for: lastFor, last_request_id: lastRequestId } = row
  return {
    tenant: row.tenant,
    owner: row.owner,
    id: row.id,
    ...(JSON.parse(row.settings) as ScheduleSettings),
    request: JSON.parse(row.request) as Schedule['request'],
    identity: JSON.parse(row.identity) as Schedule['identity'],
    seenAt: row.seen_at,
    status: row.status as ScheduleStatus,
    pauseReason: row.pause_reason ?? undefined,
    nextAt: row.next_at ?? undefined,
    dueAt: row.due_at ?? undefined,
    watermark: row.watermark,
    queuedFor: row.queued_for ?? undefined,
    fires: row.fires,
    last: lastFor === null || lastRequestId === null ? undefined : { scheduledFor: lastFor, requestId: lastRequestId },
    countsFrom: row.counts_from,
    version: row.version,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastStatus: toRunStatus(row.last_status),
  }
}

/** A tombstone of a run has no status. */
function toRunStatus(status: string | null): RunStatus | undefined {
  return status === null || status === 'gone' ? undefined : (status as RunStatus)
}

/** The columns of a schedule that change callers and firings. */
export function toColumns(schedule: Schedule): Omit<ScheduleRow, 'created_by_request' | 'body_hash'> {
  const { name, spec, session, overlap, catchUp, jitterMs, maxFires, pauseAfterFailures, identity, last } = schedule
  const settings: ScheduleSettings = { name, spec, session, overlap, catchUp, jitterMs, maxFires, pauseAfterFailures }
  return {
    tenant: schedule.tenant,
    owner: schedule.owner,
    id: schedule.id,
    settings: JSON.stringify(settings),
    request: JSON.stringify(schedule.request),
    identity: JSON.stringify(identity),
    issuer: identity.issuer,
    seen_at: schedule.seenAt,
    status: schedule.status,
    pause_reason: schedule.pauseReason ?? null,
    next_at: schedule.nextAt ?? null,
    due_at: schedule.dueAt ?? null,
    watermark: schedule.watermark,
    queued_for: schedule.queuedFor ?? null,
    fires: schedule.fires,
    last_for: last?.scheduledFor ?? null,
    last_request_id: last?.requestId ?? null,
    counts_from: schedule.countsFrom,
    version: schedule.version,
    revision: schedule.revision,
    created_at: schedule.createdAt,
    updated_at: schedule.updatedAt,
  }
}

/** The schedule after a change; each change is a new revision. */
export function changed<S extends Schedule>(schedule: S, changes: ScheduleChanges): S {
  return { ...schedule, ...changes, revision: schedule.revision + 1 }
}

export function toFireRow({ tenant, owner, id }: Schedule, fire: Fire): ScheduleFireRow {
  return {
    tenant,
    owner,
    schedule_id: id,
    scheduled_for: fire.scheduledFor,
    fired_at: fire.firedAt,
    outcome: fire.outcome,
    reason: fire.reason ?? null,
    count: fire.count,
    run_id: fire.requestId ?? null,
  }
}

export function toFire(row: ScheduleFireRow & { status: string | null }): ListedFire {
  return {
    scheduledFor: row.scheduled_for,
    firedAt: row.fired_at,
    outcome: row.outcome as FireOutcome,
    reason: row.reason ?? undefined,
    count: row.count,
    requestId: row.run_id ?? undefined,
    status: toRunStatus(row.status),
  }
}
