import { sql, type Kysely } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { CallbackListStore, CallbackPage, ListedCallback } from '../../runs/callbacks/callback-list.ts'
import type { CallbackStatus } from '../../runs/callbacks/attempt.ts'
import type { NotificationStatus } from '../../runs/callbacks/notifications.ts'
import { query, type Database } from '../database.ts'
import { toStoredRun } from '../rows.ts'
import { isInPairs } from '../sessions/remove-session.ts'
import type { CallbackRow, Tables } from '../tables.ts'
import { toAttempts } from './callbacks.ts'
import { whereChat } from './where-chat.ts'

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
