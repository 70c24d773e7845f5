import type { Kysely, RawBuilder } from 'kysely'
import type { Fire, Schedule, ScheduleAttachments, ScheduleKey } from '../../schedules/schedule.ts'
import { query, type Connection } from '../database.ts'
import type { Tables } from '../tables.ts'
import { toColumns, toFireRow } from './rows.ts'

/** Selects the current time in epoch milliseconds. */
export type ScheduleClock = () => RawBuilder<number>

/** Schedules with the status of the run of the last fire. */
export function withLastStatus(db: Kysely<Tables>) {
  return db
    .selectFrom('schedules')
    .leftJoin('runs', (join) =>
      join
        .onRef('runs.tenant', '=', 'schedules.tenant')
        .onRef('runs.owner', '=', 'schedules.owner')
        .onRef('runs.request_id', '=', 'schedules.last_request_id'),
    )
    .selectAll('schedules')
    .select('runs.status as last_status')
}

export function whereKey({ tenant, owner, id }: ScheduleKey) {
  return { 'schedules.tenant': tenant, 'schedules.owner': owner, 'schedules.id': id }
}

export async function readMedia(db: Kysely<Tables>, connection: Connection, tenant: string, id: string): Promise<ScheduleAttachments> {
  const parts = db
    .selectFrom('schedule_media')
    .select(['part', 'media_type as mediaType', 'data'])
    .where('tenant', '=', tenant)
    .where('schedule_id', '=', id)
    .orderBy('n')
  const { rows } = await query(connection, parts)
  const of = (wanted: string) => rows.filter(({ part }) => part === wanted).map(({ mediaType, data }) => ({ mediaType, data }))
  return { images: of('images'), files: of('files') }
}

/** An ended schedule, which fires no more, has no copied bytes. */
export async function removeMedia(db: Kysely<Tables>, connection: Connection, { tenant, id }: ScheduleKey): Promise<void> {
  await query(
    connection,
    db.deleteFrom('schedule_media').where((is) => is.and({ tenant, schedule_id: id })),
  )
}

export async function updateSchedule(db: Kysely<Tables>, connection: Connection, schedule: Schedule): Promise<void> {
  const { tenant: _tenant, owner: _owner, id: _id, ...columns } = toColumns(schedule)
  const update = db.updateTable('schedules').set(columns)
  await query(
    connection,
    update.where((is) => is.and(whereKey(schedule))),
  )
}

/** False where the occurrence has its row already. */
export async function insertFire(db: Kysely<Tables>, connection: Connection, schedule: Schedule, fire: Fire): Promise<boolean> {
  const insert = db
    .insertInto('schedule_fires')
    .values(toFireRow(schedule, fire))
    .onConflict((conflict) => conflict.doNothing())
  return (await query(connection, insert)).changes > 0
}
