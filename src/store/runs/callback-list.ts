import { sql, type Kysely } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { CallbackListStore, CallbackPage, ListedCallback } from '../../runs/callbacks/callback-list-store.ts'
import type { CallbackStatus } from '../../runs/callbacks/callback-store.ts'
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
      return (await query(forTenant(caller.tenant).read, pageOf(db, caller, page))).rows.map(toListedCallback)
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

/** A page of callbacks, newest first. */
function pageOf(db: Kysely<Tables>, { tenant, owner }: Owner, { status, limit, anyOwner, before }: CallbackPage) {
  const all = db.selectFrom('callbacks').selectAll().where('tenant', '=', tenant)
  const visible = anyOwner ? all : all.where('owner', '=', owner)
  const selected = status === undefined ? visible : visible.where('status', '=', status)
  // The words of the partial index of undelivered callbacks. Own callbacks have an index with the status.
  const indexed =
    anyOwner && status !== undefined && status !== 'delivered' ? selected.where('status', '!=', sql.lit('delivered')) : selected
  const older = before
    ? indexed.where(sql<boolean>`(created_at, request_id, owner) < (${before.createdAt}, ${before.requestId}, ${before.owner})`)
    : indexed
  return older.orderBy('created_at', 'desc').orderBy('request_id', 'desc').orderBy('owner', 'desc').limit(limit)
}

function toListedCallback(row: CallbackRow): ListedCallback {
  return {
    tenant: row.tenant,
    owner: row.owner,
    requestId: row.request_id,
    eventId: row.event_id,
    url: row.url,
    status: row.status as CallbackStatus,
    attempts: toAttempts(row.attempts),
    createdAt: row.created_at,
    nextAttemptAt: row.next_attempt_at ?? undefined,
  }
}
