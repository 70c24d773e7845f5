import { sql, type Kysely } from 'kysely'
import { ownIssuer } from '../../access/permissions.ts'
import type { Act } from '../../audit/acts.ts'
import { ServiceError } from '../../errors.ts'
import { busyStatuses, type ReadSchedule, type Schedule, type ScheduleAttachments, type ScheduleKey } from '../../schedules/schedule.ts'
import type { ScheduleStore } from '../../schedules/schedule-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { clockOf } from '../leases/processes.ts'
import type { RunInsert } from '../runs/step-by-step.ts'
import type { Tables } from '../tables.ts'
import { createFire } from './fire.ts'
import { changed, toColumns, toFire, toSchedule } from './rows.ts'
import { insertFire, readMedia, removeMedia, updateSchedule, whereKey, withLastStatus, type ScheduleClock } from './statements.ts'

/** `ScheduleStore`, and the removal of old rows. */
export interface ScheduleRows extends ScheduleStore {
  removeExpired(now: number, limit: number): Promise<number>
}

/** `ScheduleStore` on either database. `insertRun` begins the run of a fire in the transaction of the fire. */
export function createScheduleStore(
  database: Database,
  insertRun: RunInsert,
  clock: ScheduleClock = () => clockOf(database),
): ScheduleRows {
  const { db, all } = database
  return {
    now: async () => (await query(all.read, db.selectNoFrom(clock().as('now')))).rows[0]!.now,
    ...createReads(database),
    ...createChanges(database, clock),
    ...createDue(database, clock),
    fire: createFire(database, insertRun, clock),
    ...createOwners(database, clock),
    removeExpired: createRemoval(database),
  }
}

function createReads({ db, forTenant }: Database): Pick<ScheduleStore, 'findCreated' | 'find' | 'list' | 'media' | 'fires'> {
  return {
    async findCreated({ tenant, owner }, requestId) {
      const created = withLastStatus(db)
        .where('schedules.tenant', '=', tenant)
        .where('schedules.owner', '=', owner)
        .where('created_by_request', '=', requestId)
      const [row] = (await query(forTenant(tenant).read, created)).rows
      return row && { schedule: toSchedule(row), bodyHash: row.body_hash }
    },

    async find(tenant, id) {
      const named = withLastStatus(db).where('schedules.tenant', '=', tenant).where('schedules.id', '=', id)
      return (await query(forTenant(tenant).read, named)).rows.map(toSchedule)[0]
    },

    async list(tenant, { owner, limit, before }) {
      let page = withLastStatus(db).where('schedules.tenant', '=', tenant).orderBy('schedules.id', 'desc').limit(limit)
      if (owner !== undefined) page = page.where('schedules.owner', '=', owner)
      if (before !== undefined) page = page.where('schedules.id', '<', before)
      return (await query(forTenant(tenant).read, page)).rows.map(toSchedule)
    },

    media: ({ tenant, id }) => readMedia(db, forTenant(tenant).read, tenant, id),

    async fires({ tenant, id }, { limit, before }) {
      let page = db
        .selectFrom('schedule_fires')
        .leftJoin('runs', (join) =>
          join
            .onRef('runs.tenant', '=', 'schedule_fires.tenant')
            .onRef('runs.owner', '=', 'schedule_fires.owner')
            .onRef('runs.request_id', '=', 'run_id'),
        )
        .selectAll('schedule_fires')
        .select('runs.status')
        .where('schedule_fires.tenant', '=', tenant)
        .where('schedule_id', '=', id)
        .orderBy('scheduled_for', 'desc')
        .limit(limit)
      if (before !== undefined) page = page.where('scheduled_for', '<', before)
      return (await query(forTenant(tenant).read, page)).rows.map(toFire)
    },
  }
}

function createChanges({ db, isShared, forTenant, ledger }: Database, clock: ScheduleClock): Pick<ScheduleStore, 'insert' | 'change'> {
  /** Serializes the inserts of a tenant: a concurrent count would miss uncommitted rows. */
  async function lock(connection: Connection, tenant: string): Promise<void> {
    if (isShared) await connection.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`schedules ${tenant}`])
  }

  async function isFull(connection: Connection, { tenant, owner }: Pick<ScheduleKey, 'tenant' | 'owner'>, max: number): Promise<boolean> {
    const unended = db
      .selectFrom('schedules')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('status', '!=', 'ended')
    const { rows } = await query(connection, owner === '' ? unended : unended.where('owner', '=', owner))
    return rows[0]!.count >= max
  }

  return {
    insert: ({ schedule, media, requestId, bodyHash }, limits, acting) =>
      forTenant(schedule.tenant).unit(async (connection) => {
        const { tenant, owner } = schedule
        await lock(connection, tenant)
        const known = db.selectFrom('schedules').select('id').where('created_by_request', '=', requestId)
        const ofOwner = known.where((is) => is.and({ tenant, owner }))
        if ((await query(connection, ofOwner)).rows.length > 0) return 'known'
        if (await isFull(connection, schedule, limits.perCaller)) return 'caller'
        if (await isFull(connection, { tenant, owner: '' }, limits.perTenant)) return 'tenant'
        const row = { ...toColumns(schedule), created_by_request: requestId, body_hash: bodyHash }
        await query(connection, db.insertInto('schedules').values(row))
        await insertMedia(db, connection, schedule, media)
        await ledger.record(connection, tenant, acting, toAct('schedule.created', schedule))
        return 'added'
      }),

    change: (key, change, acting) =>
      forTenant(key.tenant).unit(async (connection) => {
        const locked = db
          .selectFrom('schedules')
          .select('id')
          .where((is) => is.and(whereKey(key)))
        await query(connection, isShared ? locked.forUpdate() : locked)
        const read = withLastStatus(db)
          .select(clock().as('now'))
          .where((is) => is.and(whereKey(key)))
        const [row] = (await query(connection, read)).rows
        if (!row) throw new ServiceError('not_found', `There is no schedule ${key.id}.`)
        const schedule = toSchedule(row)
        const { changes, media, fires = [] } = change(schedule, row.now)
        const result = changed(schedule, changes)
        await updateSchedule(db, connection, result)
        const isEnded = result.status === 'ended'
        if (media || isEnded) await removeMedia(db, connection, schedule)
        if (media && !isEnded) await insertMedia(db, connection, schedule, media)
        for (const fire of fires) await insertFire(db, connection, schedule, fire)
        if (Object.keys(changes).length > 0) await ledger.record(connection, key.tenant, acting, toAct('schedule.changed', result))
        return result
      }),
  }
}

function toAct(action: 'schedule.created' | 'schedule.changed', { id, version, status }: Schedule): Act {
  return { action, target: `schedule:${id}`, data: { version, status } }
}

async function insertMedia(db: Kysely<Tables>, connection: Connection, { tenant, owner, id }: ScheduleKey, media: ScheduleAttachments) {
  for (const part of ['images', 'files'] as const)
    for (const [n, { mediaType, data }] of media[part].entries()) {
      const row = { tenant, owner, schedule_id: id, part, n, media_type: mediaType, data }
      await query(connection, db.insertInto('schedule_media').values(row))
    }
}

/** A literal value, because the index of active schedules is not used with a parameter. */
const isActive = sql<boolean>`schedules.status = 'active'`

function createDue({ db, all, forTenant }: Database, clock: ScheduleClock): Pick<ScheduleStore, 'due' | 'postpone'> {
  const key = ['tenant', 'owner', 'id', 'due_at as dueAt', 'queued_for as queuedFor'] as const

  async function read(keys: readonly ScheduleKey[]): Promise<ReadSchedule[]> {
    if (keys.length === 0) return []
    const named = withLastStatus(db).where((is) => is.or(keys.map((each) => is.and(whereKey(each)))))
    const { rows } = await query(all.read, named.where(isActive))
    return rows.map(toSchedule).sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
  }

  /**
   * Schedules with a waiting occurrence that cannot start yet are left out, or come last: any number of such schedules delays no ready
   * schedule.
   */
  async function readReady(now: number, limit: number): Promise<ReadSchedule[]> {
    const isBlocked = sql<boolean>`(queued_for is not null and coalesce(runs.status, '') in (${sql.join(busyStatuses)}))`
    const due = withLastStatus(db)
      .where(isActive)
      .where('due_at', '<=', now)
      .where(sql<boolean>`(not ${isBlocked} or next_at <= ${now})`)
      .orderBy(sql`case when ${isBlocked} then 1 else 0 end`)
      .orderBy('due_at')
    return (await query(all.read, due.limit(limit))).rows.map(toSchedule)
  }

  return {
    async due(limit) {
      // The only statement of an idle service.
      const first = db.selectFrom('schedules').select(key).select(clock().as('now'))
      const { rows } = await query(
        all.read,
        first
          .where(isActive)
          .orderBy('due_at')
          .limit(limit + 1),
      )
      const now = rows[0]?.now ?? 0
      const due = rows.slice(0, limit).filter(({ dueAt }) => dueAt !== null && dueAt <= now)
      const hasWaiting = due.some(({ queuedFor }) => queuedFor !== null)
      const schedules = hasWaiting ? await readReady(now, limit) : await read(due)
      return { now, schedules, nextDueAt: rows[due.length]?.dueAt ?? undefined, hasWaiting }
    },

    async postpone(schedule, waitMs) {
      const later = db
        .updateTable('schedules')
        .set({ due_at: sql`${clock()} + ${waitMs}` })
        .where((is) => is.and({ ...whereKey(schedule), revision: schedule.revision }))
        .where(isActive)
      await forTenant(schedule.tenant).unit((connection) => query(connection, later))
    },
  }
}

function createOwners({ db, all, forTenant }: Database, clock: ScheduleClock): Pick<ScheduleStore, 'providerOwners' | 'renew'> {
  return {
    async providerOwners() {
      const owners = db.selectFrom('schedules').select(['tenant', 'owner']).distinct().where(isActive).where('issuer', '!=', ownIssuer)
      return (await query(all.read, owners)).rows
    },

    async renew(identity) {
      const { tenant, owner } = identity
      // A firing that has read the roles of before stores nothing.
      const revision = sql<number>`revision + 1`
      const update = db.updateTable('schedules').set({ identity: JSON.stringify(identity), seen_at: clock(), revision })
      const renewed = update.where((is) => is.and({ tenant, owner })).where('status', '!=', 'ended')
      await forTenant(tenant).unit((connection) => query(connection, renewed))
    },
  }
}

const dayMs = 86_400_000
/** How long fires and ended schedules are kept. */
const keptMs = 90 * dayMs

function createRemoval({ db, all }: Database): ScheduleRows['removeExpired'] {
  return async (now, limit) => {
    const oldFires = db
      .selectFrom('schedule_fires')
      .select(['tenant', 'schedule_id', 'scheduled_for'])
      .where('fired_at', '<', now - keptMs)
    const fires = (await query(all.read, oldFires.limit(limit))).rows
    const ended = db
      .selectFrom('schedules')
      .select(['tenant', 'owner', 'id'])
      .where(sql<boolean>`status = 'ended'`)
    const schedules = (await query(all.read, ended.where('updated_at', '<', now - keptMs).limit(limit))).rows
    if (fires.length + schedules.length === 0) return 0
    return all.unit(async (connection) => {
      if (fires.length > 0)
        await query(
          connection,
          db.deleteFrom('schedule_fires').where((is) => is.or(fires.map((row) => is.and(row)))),
        )
      for (const { tenant, owner, id } of schedules) {
        for (const table of ['schedule_media', 'schedule_fires'] as const)
          await query(
            connection,
            db.deleteFrom(table).where((is) => is.and({ tenant, schedule_id: id })),
          )
        await query(
          connection,
          db.deleteFrom('schedules').where((is) => is.and({ tenant, owner, id })),
        )
      }
      return fires.length + schedules.length
    })
  }
}
