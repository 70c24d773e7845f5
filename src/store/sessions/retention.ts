import { sql, type Compilable, type Kysely, type RawBuilder } from 'kysely'
import type { RetentionKind, RetentionStore } from '../../runs/retention/retention-store.ts'
import { query, type Database } from '../database.ts'
import { uncount } from '../reports/log-counts.ts'
import { forgetMemories } from '../memory/memories.ts'
import { isOneOf, toTombstone, whereTenant, removeRunDetails, removeSessions } from './remove-session.ts'
import { hourMs } from '../rows.ts'
import type { Connection } from '../statement.ts'
import type { Tables } from '../tables.ts'
import { isChat, whereToolExecution } from '../runs/where-chat.ts'

interface RetentionBatch {
  connection: Connection
  tenant: string
  before: number
  limit: number
  now: number
}

/** How one kind is found and removed. */
interface RetentionQueries {
  /** The first tenant behind `last` that has any, with the time of its oldest: one look into an index. */
  oldest(last: string): Compilable<{ tenant: string; at: number | null }>
  count(tenant: string, before: number, sessionsBefore: number): Compilable<{ count: number }>
  remove(batch: RetentionBatch): Promise<number>
}

/** `RetentionStore` on either database. */
export function createRetentionStore(database: Database): RetentionStore {
  const { db, all } = database
  const kinds: Record<RetentionKind, RetentionQueries> = {
    sessions: agedSessions(database),
    runs: agedRuns(db, database.isShared),
    memories: agedMemories(db),
    deleted_sessions: agedTombstones(db),
    access_keys: agedKeys(db),
    metrics: agedMetrics(db),
  }
  return {
    async *tenants(kind, before) {
      for (let last = ''; ;) {
        const [row] = (await query(all.read, kinds[kind].oldest(last))).rows
        if (!row) return
        last = row.tenant
        if (row.at !== null && row.at < before) yield row.tenant
      }
    },
    async count(kind, tenant, before, sessionsBefore) {
      return (await query(database.forTenant(tenant).read, kinds[kind].count(tenant, before, sessionsBefore))).rows[0]?.count ?? 0
    },
    remove: (kind, tenant, before, batch) =>
      database
        .forTenant(tenant)
        .unit((connection) => kinds[kind].remove({ connection, tenant, before, limit: batch.most, now: batch.now })),
  }
}

/** Whether there is none. Counted, because Postgres would join `exists` with all runs that there are, for a few sessions. */
function noneOf(rows: RawBuilder<unknown>) {
  return sql<boolean>`(select count(*) from ${rows}) = 0`
}

/** A session's runs that have not ended. */
const unended = sql`runs where runs.tenant = sessions.tenant and runs.session = sessions.key
  and runs.status in ('pending', 'running', 'interrupted')`

/** Callbacks of a session's runs that are still to be sent: what they tell stands in the runs. */
const callbacks = sql`runs join callbacks on callbacks.tenant = runs.tenant
  and callbacks.owner = runs.owner and callbacks.request_id = runs.request_id
  where runs.tenant = sessions.tenant and runs.session = sessions.key and callbacks.status = 'pending'`

/** Tools that run directly under a session's name: their results go with the session. */
const executions = sql`runs where runs.tenant = sessions.tenant and runs.owner = sessions.owner
  and runs.session_id = sessions.session_id and ${whereToolExecution} and runs.status = 'running'`

function agedSessions(database: Database): RetentionQueries {
  const { db, isShared } = database
  const idle = (tenant: string, before: number) =>
    db
      .selectFrom('sessions')
      .where('tenant', '=', tenant)
      .where('updated_at', '<', before)
      .where('active_run', 'is', null)
      .where(noneOf(unended))
      .where(noneOf(callbacks))
      .where(noneOf(executions))
  return {
    oldest: (last) =>
      db.selectFrom('sessions').select(['tenant', 'updated_at as at']).where('tenant', '>', last).orderBy('tenant').orderBy('at').limit(1),
    count: (tenant, before) => idle(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit, now }) {
      const old = idle(tenant, before).select(['key', 'owner', 'session_id']).orderBy('updated_at').limit(limit)
      // One that somebody is just taking is active.
      const { rows } = await query(connection, isShared ? old.forUpdate().skipLocked() : old)
      if (rows.length > 0) await removeSessions(database, connection, tenant, rows, now)
      return rows.length
    },
  }
}

function agedRuns(db: Kysely<Tables>, isShared: boolean): RetentionQueries {
  const toBeSent = sql`callbacks where callbacks.tenant = runs.tenant and callbacks.owner = runs.owner
    and callbacks.request_id = runs.request_id and callbacks.status = 'pending'`
  const done = (tenant: string, before: number) =>
    db
      .selectFrom('runs')
      .where('tenant', '=', tenant)
      .where('ended_at', 'is not', null)
      .where('ended_at', '<', before)
      .where(noneOf(toBeSent))
  return {
    oldest: (last) =>
      db
        .selectFrom('runs')
        .select(['tenant', 'ended_at as at'])
        .where('ended_at', 'is not', null)
        .where('tenant', '>', last)
        .orderBy('tenant')
        .orderBy('at')
        .limit(1),
    count: (tenant, before, sessionsBefore) =>
      done(tenant, before)
        .where(({ not }) => not(goesWithSession('runs.session', sessionsBefore)))
        .select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit, now }) {
      const old = done(tenant, before).select(['owner', 'request_id', 'operation', 'ended_at']).orderBy('ended_at').limit(limit)
      const { rows } = await query(connection, isShared ? old.forUpdate().skipLocked() : old)
      if (rows.length === 0) return 0
      const logged = rows.filter(isChat)
      await uncount(connection, db, tenant, logged)
      await query(
        connection,
        toTombstone(db, now)
          .where('tenant', '=', tenant)
          .where(isOneOf(['request_id', 'owner'], rows)),
      )
      await removeRunDetails(db, connection, tenant, rows)
      return rows.length
    },
  }
}

/** Whether what belongs to a session, named by its key, goes with that. */
function goesWithSession(key: string, before: number) {
  return sql<boolean>`exists (select 1 from sessions where sessions.key = ${sql.ref(key)} and sessions.updated_at < ${before}
    and sessions.active_run is null and not exists (select 1 from ${callbacks}) and not exists (select 1 from ${executions}))`
}

/** Whether a memory comes from sessions that go, and from no other. */
function isLearnedAlone(before: number) {
  const sources = sql`select 1 from memory_sources where memory_sources.memory = memories.id`
  return sql<boolean>`(exists (${sources}) and not exists (${sources} and not ${goesWithSession('memory_sources.session', before)}))`
}

function agedTombstones(db: Kysely<Tables>): RetentionQueries {
  // A value that stands in the text: only so is the index of marks used.
  const isTombstone = sql<boolean>`status = 'gone'`
  const old = (tenant: string, before: number) =>
    db.selectFrom('runs').where('tenant', '=', tenant).where(isTombstone).where('gone_at', '<', before)
  return {
    oldest: (last) =>
      db
        .selectFrom('runs')
        .select(['tenant', 'gone_at as at'])
        .where(isTombstone)
        .where('tenant', '>', last)
        .orderBy('tenant')
        .orderBy('at')
        .limit(1),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const { rows } = await query(connection, old(tenant, before).select(['owner', 'request_id']).orderBy('gone_at').limit(limit))
      if (rows.length === 0) return 0
      const isInBatch = isOneOf(['request_id', 'owner'], rows)
      await query(connection, db.deleteFrom('async_events').where('tenant', '=', tenant).where(isInBatch))
      await query(connection, db.deleteFrom('runs').where('tenant', '=', tenant).where(isTombstone).where(isInBatch))
      return rows.length
    },
  }
}

function agedMemories(db: Kysely<Tables>): RetentionQueries {
  const old = (tenant: string, before: number) => db.selectFrom('memories').where('tenant', '=', tenant).where('updated_at', '<', before)
  return {
    oldest: (last) =>
      db.selectFrom('memories').select(['tenant', 'updated_at as at']).where('tenant', '>', last).orderBy('tenant').orderBy('at').limit(1),
    count: (tenant, before, sessionsBefore) =>
      old(tenant, before)
        .where(({ not }) => not(isLearnedAlone(sessionsBefore)))
        .select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const { rows } = await query(connection, old(tenant, before).select(['owner', 'id']).orderBy('updated_at').limit(limit))
      const byOwner = [...Map.groupBy(rows, ({ owner }) => owner)].sort(([a], [b]) => (a < b ? -1 : 1))
      for (const [owner, ownMemories] of byOwner) {
        const ids = ownMemories.map(({ id }) => id)
        await forgetMemories(connection, db, { tenant, owner }, ids, before)
      }
      return rows.length
    },
  }
}

function agedKeys(db: Kysely<Tables>): RetentionQueries {
  const old = (tenant: string, before: number) => db.selectFrom('access_keys').where('tenant', '=', tenant).where('expires_at', '<', before)
  return {
    oldest: (last) =>
      db
        .selectFrom('access_keys')
        .select(['tenant', 'expires_at as at'])
        .where('tenant', '>', last)
        .orderBy('tenant')
        .orderBy('at')
        .limit(1),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const expiredKeys = old(tenant, before).select('jti').orderBy('expires_at').limit(limit)
      return (await query(connection, db.deleteFrom('access_keys').where(whereTenant(tenant)).where('jti', 'in', expiredKeys))).changes
    },
  }
}

function agedMetrics(db: Kysely<Tables>): RetentionQueries {
  // The logs are counted by them.
  const hasLogs = sql<boolean>`exists (select 1 from runs where runs.tenant = metrics.tenant and runs.ended_at is not null
    and runs.ended_at >= metrics.hour - metrics.hour % ${sql.lit(hourMs)} and runs.ended_at < metrics.hour - metrics.hour % ${sql.lit(hourMs)} + ${sql.lit(hourMs)})`
  const old = (tenant: string, before: number) =>
    db
      .selectFrom('metrics')
      .where('tenant', '=', tenant)
      .where('hour', '<', before)
      .where(({ not }) => not(hasLogs))
  return {
    oldest: (last) =>
      db.selectFrom('metrics').select(['tenant', 'hour as at']).where('tenant', '>', last).orderBy('tenant').orderBy('at').limit(1),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const oldHours = old(tenant, before).select('hour').orderBy('hour').limit(limit)
      return (await query(connection, db.deleteFrom('metrics').where('tenant', '=', tenant).where('hour', 'in', oldHours))).changes
    },
  }
}
