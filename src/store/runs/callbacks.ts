import { type Kysely, sql } from 'kysely'
import type { CallbackAttempt, CallbackStatus, CallbackStore } from '../../runs/callbacks/attempt.ts'
import { query, type Database, type Connection } from '../database.ts'
import { keyColumns, toStoredRun } from '../rows.ts'
import type { Tables, CallbackRow } from '../tables.ts'
import type { Owner } from '../../access/owner.ts'
import type { CallbackListStore, CallbackPage, ListedCallback } from '../../runs/callbacks/callback-list.ts'
import type { NotificationStatus } from '../../runs/callbacks/notifications.ts'
import { isInPairs } from '../sessions/remove-session.ts'
import { whereChat } from './statements.ts'

/** Number of attempts kept per callback; the newest stay. */
const maxAttempts = 100

/** Number of attempts kept with their bodies. */
const maxBodies = 10

/** `CallbackStore` on either database. */
export function createCallbackStore(database: Database): CallbackStore {
  const { db } = database

  return {
    async find(key) {
      const { rows } = await query(database.forTenant(key.tenant).read, whereKey(db.selectFrom('callbacks').selectAll(), keyColumns(key)))
      const row = rows[0]
      if (!row) return undefined
      const { event_id, url, status, attempts, round, tries } = row
      return { eventId: event_id, url, status: status as CallbackStatus, attempts: toAttempts(attempts), round, tries }
    },

    record: (key, round, attempt, { status, nextAt }) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row) return
        const isOfRound = row.round === round
        // An attempt of an earlier round may end late. Its verdict on the receiver counts; running out of attempts does not.
        const countsForStatus = isOfRound || status === 'delivered' || status === 'gone'
        const change = {
          attempts: JSON.stringify(toKept([...toAttempts(row.attempts), attempt])),
          tries: isOfRound ? row.tries + 1 : row.tries,
          ...(isOfRound ? { next_attempt_at: nextAt ?? null } : {}),
          ...(countsForStatus && row.status !== 'delivered' ? { status } : {}),
        }
        await query(connection, whereKey(db.updateTable('callbacks').set(change), columns))
      }),

    note: (key, attempt) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row) return
        const attempts = JSON.stringify(toKept([...toAttempts(row.attempts), attempt]))
        await query(connection, whereKey(db.updateTable('callbacks').set({ attempts }), columns))
      }),

    restart: (key, toJob) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row || row.status === 'delivered') return false
        const round = row.round + 1
        const job = toJob(round)
        const change = { status: 'pending', round, tries: 0, next_attempt_at: job.dueAt }
        await query(connection, whereKey(db.updateTable('callbacks').set(change), columns))
        await database.jobs.insert(connection, [job])
        return true
      }),
  }
}

type KeyColumns = ReturnType<typeof keyColumns>

/** Locks the callback, so that a concurrent change waits for the commit. */
async function lock(connection: Connection, db: Kysely<Tables>, key: KeyColumns) {
  const locking = whereKey(
    db.updateTable('callbacks').set(({ ref }) => ({ round: ref('round') })),
    key,
  )
  return (await query(connection, locking.returning(['status', 'attempts', 'round', 'tries']))).rows[0]
}

function whereKey<Q extends { where(column: keyof KeyColumns, is: '=', value: string): Q }>(
  builder: Q,
  { tenant, owner, request_id }: KeyColumns,
): Q {
  return builder.where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', '=', request_id)
}

/** The newest attempts, of which the last few keep the bodies. */
export function toKept(attempts: readonly CallbackAttempt[]): CallbackAttempt[] {
  const firstBody = attempts.length - maxBodies
  return attempts
    .map((attempt, n) => {
      if (n >= firstBody) return attempt
      const { requestBody: _, responseBody: __, ...rest } = attempt
      return rest
    })
    .slice(-maxAttempts)
}

export function toAttempts(text: string): CallbackAttempt[] {
  return JSON.parse(text) as CallbackAttempt[]
}

/** `CallbackListStore` on either database. */
export function createCallbackListStore({ db, forTenant }: Database): CallbackListStore {
  return {
    async list(caller, page) {
      const { rows } = await query(forTenant(caller.tenant).read, pageOf(db, caller, page))
      return rows.map((row) => toListedCallback(caller.tenant, row))
    },

    async runsOf(tenant, keys) {
      const pairs = keys.map(({ owner, requestId }) => ({ owner, request_id: requestId }))
      const runs = db
        .selectFrom('runs')
        .selectAll()
        .where('tenant', '=', tenant)
        .where(isInPairs(['request_id', 'owner'], pairs))
      return (await query(forTenant(tenant).read, runs.where('status', '!=', 'gone').where(whereChat))).rows.map(toStoredRun)
    },
  }
}

const listed = ['owner', 'request_id', 'url', 'status', 'attempts', 'created_at', 'next_attempt_at'] as const
const columns = [...listed, 'event_id', 'config_id'] as const

type ListedRow = Pick<CallbackRow, (typeof listed)[number] | 'event_id'> & { config_id: string }

/** A page of callbacks and notifications, newest first. Of each table, an index gives the rows of a page in order. */
function pageOf(db: Kysely<Tables>, caller: Owner, page: CallbackPage) {
  const callbacks = db.selectFrom(callbacksOf(db, caller, page).as('callback')).select(columns)
  const notifications = db.selectFrom(notificationsOf(db, caller, page).as('notification')).select(columns)
  return db
    .selectFrom(callbacks.unionAll(notifications).as('listed'))
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('request_id', 'desc')
    .orderBy('owner', 'desc')
    .orderBy('config_id', 'desc')
    .limit(page.limit)
}

function callbacksOf(db: Kysely<Tables>, caller: Owner, page: CallbackPage) {
  const { before, status, limit } = page
  const visible = db
    .selectFrom('callbacks')
    .select([...listed, 'event_id', sql<string>`''`.as('config_id')])
    .where(isVisible(caller, page, status === undefined ? [] : [status]))
  // A callback comes behind the notifications of its run.
  const isOlder = before?.configId === '' ? sql`<` : sql`<=`
  const older = before
    ? visible.where(sql<boolean>`(created_at, request_id, owner) ${isOlder} (${before.createdAt}, ${before.requestId}, ${before.owner})`)
    : visible
  return older.orderBy('created_at', 'desc').orderBy('request_id', 'desc').orderBy('owner', 'desc').limit(limit)
}

function notificationsOf(db: Kysely<Tables>, caller: Owner, page: CallbackPage) {
  const { before, status, limit } = page
  const statuses: NotificationStatus[] = status === 'pending' ? ['waiting', 'pending'] : status === undefined ? [] : [status]
  const visible = db
    .selectFrom('task_notifications')
    .select([...listed, sql<string>`''`.as('event_id'), 'id as config_id'])
    .where(isVisible(caller, page, statuses))
  const position = before && sql`(${before.createdAt}, ${before.requestId}, ${before.owner}, ${before.configId})`
  const older = position ? visible.where(sql<boolean>`(created_at, request_id, owner, id) < ${position}`) : visible
  return older.orderBy('created_at', 'desc').orderBy('request_id', 'desc').orderBy('owner', 'desc').orderBy('id', 'desc').limit(limit)
}

/** `statuses`: empty for any. */
function isVisible({ tenant, owner }: Owner, { anyOwner }: CallbackPage, statuses: readonly NotificationStatus[]) {
  const conditions = [sql`tenant = ${tenant}`]
  if (!anyOwner) conditions.push(sql`owner = ${owner}`)
  if (statuses.length > 0) conditions.push(sql`status in (${sql.join(statuses)})`)
  // The words of the partial indexes of undelivered rows. Own rows have indexes with the status.
  if (anyOwner && statuses.length > 0 && !statuses.includes('delivered')) conditions.push(sql`status <> 'delivered'`)
  return sql<boolean>`${sql.join(conditions, sql` and `)}`
}

function toListedCallback(tenant: string, row: ListedRow): ListedCallback {
  return {
    tenant,
    owner: row.owner,
    requestId: row.request_id,
    configId: row.config_id,
    eventId: row.event_id,
    url: row.url,
    // A notification is to be sent when its task changes.
    status: row.status === 'waiting' ? 'pending' : (row.status as CallbackStatus),
    attempts: toAttempts(row.attempts),
    createdAt: row.created_at,
    nextAttemptAt: row.next_attempt_at ?? undefined,
  }
}
