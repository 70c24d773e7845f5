import { sql, type Kysely } from 'kysely'
import { ownIssuer } from '../../access/permissions.ts'
import type { Act } from '../../audit/acts.ts'
import { ServiceError } from '../../errors.ts'
import type { RunStatus } from '../../runs/run.ts'
import { scheduleIsBusy, type Fire, type Schedule } from '../../schedules/schedule.ts'
import type { ScheduleStore } from '../../schedules/schedule-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { RequestKnown, type RunInsert } from '../runs/step-by-step.ts'
import type { Tables } from '../tables.ts'
import { changed } from './rows.ts'
import { insertFire, readMedia, removeMedia, updateSchedule, whereKey, type ScheduleClock } from './statements.ts'

/** Reasons of a refusal for lack of rights: the owner's key has ended, the owner is away, or may not chat. */
const lackOfRights: readonly (string | undefined)[] = ['key_revoked', 'owner_away', 'forbidden']

function toActs({ id }: Schedule, { outcome, reason, scheduledFor }: Fire): Act[] {
  if (outcome !== 'refused' || reason === undefined || !lackOfRights.includes(reason)) return []
  const data = { reason, scheduled_for: new Date(scheduledFor).toISOString() }
  return [{ action: 'schedule.refused', target: `schedule:${id}`, outcome: 'refused', data }]
}

/** The transaction of a firing. */
export function createFire(database: Database, insertRun: RunInsert, clock: ScheduleClock): ScheduleStore['fire'] {
  const { db, isShared, forTenant, ledger } = database

  /** The time, where the schedule is as it was read. On Postgres a schedule that another process fires is left alone. */
  async function lock(connection: Connection, schedule: Schedule): Promise<number | undefined> {
    const unchanged = db
      .selectFrom('schedules')
      .select(clock().as('now'))
      .where((is) => is.and(whereKey(schedule)))
      .where('revision', '=', schedule.revision)
      .where('status', '=', schedule.status)
    return (await query(connection, isShared ? unchanged.forUpdate().skipLocked() : unchanged)).rows[0]?.now
  }

  return async (schedule, decide) => {
    await insertRun.prepare()
    return forTenant(schedule.tenant).unit(async (connection) => {
      const now = await lock(connection, schedule)
      if (now === undefined) return undefined
      const lastStatus = await statusOfLast(db, connection, schedule)
      const failures = await countFailures(db, connection, schedule, lastStatus)
      const firing = decide({ now, lastStatus, failures, isKeyRevoked: await isKeyRevoked(db, connection, schedule) })
      if (!firing) return undefined
      const { fires, changes, run } = firing
      const [last, ...others] = fires.toReversed()
      const isNew = !last || (await insertFire(db, connection, schedule, last))
      if (!isNew && firing.mustBeNew) return undefined
      for (const fire of others) await insertFire(db, connection, schedule, fire)
      const refusals = isNew ? fires.flatMap((fire) => toActs(schedule, fire)) : []
      await ledger.record(connection, schedule.tenant, { ...schedule.identity, via: 'service' }, refusals)
      const { fires: _fires, last: _last, ...moves } = changes
      const result = changed(schedule, isNew ? changes : moves)
      await updateSchedule(db, connection, result)
      const { images, files } = schedule.request.chat
      const hasMedia = images !== undefined || files !== undefined
      const media = run && isNew && hasMedia ? await readMedia(db, connection, schedule.tenant, schedule.id) : undefined
      if (hasMedia && result.status === 'ended') await removeMedia(db, connection, schedule)
      if (!run || !isNew) return { ...firing, run: undefined }
      const begun = await insertRun.insert(connection, { ...run, ...media }).catch((error: unknown) => {
        if (!(error instanceof RequestKnown)) throw error
      })
      // `accepted`: the caller has sent an event with the ids of the fire.
      if (!begun || begun.kind === 'accepted')
        throw new ServiceError('request_id_reused', `The request id ${run.requestId} was used for another request.`)
      return firing
    })
  }
}

async function statusOfLast(db: Kysely<Tables>, connection: Connection, { tenant, owner, last }: Schedule): Promise<RunStatus | undefined> {
  if (!last) return undefined
  const run = db
    .selectFrom('runs')
    .select('status')
    .where((is) => is.and({ tenant, owner, request_id: last.requestId }))
  const status = (await query(connection, run)).rows[0]?.status
  return status === 'gone' ? undefined : (status as RunStatus | undefined)
}

/** Failed runs in a row, the newest first. A run that has not ended is neither a failure nor a success. */
async function countFailures(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, id, pauseAfterFailures, countsFrom }: Schedule,
  lastStatus: RunStatus | undefined,
): Promise<number> {
  if (pauseAfterFailures === 0 || lastStatus === undefined || !(isFailure(lastStatus) || scheduleIsBusy(lastStatus))) return 0
  const started = db
    .selectFrom('schedule_fires')
    .innerJoin('runs', (join) =>
      join
        .onRef('runs.tenant', '=', 'schedule_fires.tenant')
        .onRef('runs.owner', '=', 'schedule_fires.owner')
        .onRef('runs.request_id', '=', 'run_id'),
    )
    .select('runs.status')
    .where('schedule_fires.tenant', '=', tenant)
    .where('schedule_id', '=', id)
    .where(sql<boolean>`outcome = 'started'`)
    .where('fired_at', '>=', countsFrom)
    .where('runs.status', 'in', ['success', 'error', 'timeout', 'cancelled'])
    .orderBy('fired_at', 'desc')
    .limit(pauseAfterFailures)
  const { rows } = await query(connection, started)
  const firstOther = rows.findIndex(({ status }) => !isFailure(status))
  return firstOther < 0 ? rows.length : firstOther
}

function isFailure(status: string): boolean {
  return status === 'error' || status === 'timeout'
}

/** The register has keys of the service alone. */
async function isKeyRevoked(db: Kysely<Tables>, connection: Connection, { tenant, identity }: Schedule): Promise<boolean> {
  const { issuer, keyId } = identity
  if (issuer !== ownIssuer || keyId === undefined) return false
  const key = db.selectFrom('access_keys').select('revoked_at').where('tenant', '=', tenant).where('jti', '=', keyId)
  return (await query(connection, key)).rows.some(({ revoked_at: revokedAt }) => revokedAt !== null)
}
