import { sql, type Compilable, type Kysely, type RawBuilder } from 'kysely'
import type { RetentionKind, RetentionStore } from '../../runs/retention.ts'
import { query, type Database, type Connection } from '../database.ts'
import { forgetMemories } from '../memory/memories.ts'
import { createLedgerRetention, type LedgerCuts } from '../audit/cut.ts'
import { isInPairs, removeRuns, removeSessions, whereTenant } from './remove-session.ts'
import { hourMs } from '../rows.ts'
import type { Tables } from '../tables.ts'
import { removeUploads } from '../documents/uploads.ts'
import { whereToolExecution } from '../runs/statements.ts'

interface RetentionBatch {
  connection: Connection
  tenant: string
  before: number
  limit: number
  now: number
}

/** Queries for expired rows of one kind. */
interface RetentionQueries {
  /** The next tenant after `last` with rows of the kind, and the time of its oldest row: one index lookup. */
  oldest(last: string): Compilable<{ tenant: string; at: number | null }>
  count(tenant: string, before: number, sessionsBefore: number): Compilable<{ count: number }>
  remove(batch: RetentionBatch): Promise<number>
}

/** `RetentionStore` on either database. Without `cuts`, no more events of the ledger are removed than were cut before. */
export function createRetentionStore(database: Database, cuts?: LedgerCuts): RetentionStore {
  const { db, all } = database
  const ledger = createLedgerRetention(database, cuts)
  const kinds: Record<Exclude<RetentionKind, 'audit'>, RetentionQueries> = {
    sessions: agedSessions(database),
    runs: agedRuns(db, database.isShared),
    memories: agedMemories(db),
    deleted_sessions: agedTombstones(db),
    access_keys: agedKeys(db),
    uploads: agedUploads(database),
    metrics: agedMetrics(db),
  }
  return {
    async *tenants(kind, before) {
      for (let last = ''; ;) {
        const [row] = (await query(all.read, kind === 'audit' ? oldestEvent(db, last) : kinds[kind].oldest(last))).rows
        if (!row) return
        last = row.tenant
        if (row.at !== null && row.at < before) yield row.tenant
      }
    },
    async count(kind, tenant, before, sessionsBefore) {
      if (kind === 'audit') return ledger.count(tenant, before)
      return (await query(database.forTenant(tenant).read, kinds[kind].count(tenant, before, sessionsBefore))).rows[0]?.count ?? 0
    },
    remove: (kind, tenant, before, batch) => {
      if (kind === 'audit') return ledger.remove(tenant, before, batch.limit)
      return database
        .forTenant(tenant)
        .unit((connection) => kinds[kind].remove({ connection, tenant, before, limit: batch.limit, now: batch.now }))
    },
  }
}

/** Finds the oldest row of the next tenant. `isOfKind`: the condition of a partial index, in literal values. */
function oldestOf(db: Kysely<Tables>, table: keyof Tables, at: string, isOfKind?: RawBuilder<unknown>): RetentionQueries['oldest'] {
  const ofKind = isOfKind ? sql`${isOfKind} and` : sql``
  return (last) => {
    const oldest = sql<{ tenant: string; at: number | null }>`select tenant, ${sql.ref(at)} as at from ${sql.table(table)}
      where ${ofKind} tenant > ${last} order by tenant, at limit 1`
    return { compile: () => oldest.compile(db) }
  }
}

/** Finds the first event of the next tenant: the oldest, unless a clock was set back. */
function oldestEvent(db: Kysely<Tables>, last: string) {
  const first = db.selectFrom('audit_events').select(['tenant', 'at']).where('tenant', '>', last)
  return first
    .where(sql<boolean>`seq is not null`)
    .orderBy('tenant')
    .orderBy('seq')
    .limit(1)
}

/** True when `rows` is empty. Uses a count, because Postgres would join `not exists` with all runs, even for a few sessions. */
function noneOf(rows: RawBuilder<unknown>) {
  return sql<boolean>`(select count(*) from ${rows}) = 0`
}

/** The unended runs of a session. */
const unended = sql`runs where runs.tenant = sessions.tenant and runs.session = sessions.key
  and runs.status in ('pending', 'running', 'interrupted')`

/** Pending callbacks of a session's runs, which need the logs of the runs. */
const callbacks = sql`runs join callbacks on callbacks.tenant = runs.tenant
  and callbacks.owner = runs.owner and callbacks.request_id = runs.request_id
  where runs.tenant = sessions.tenant and runs.session = sessions.key and callbacks.status = 'pending'`

/** Running direct executions of tools with the session's id, whose results are removed with the session. */
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
    oldest: oldestOf(db, 'sessions', 'updated_at'),
    count: (tenant, before) => idle(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit, now }) {
      const old = idle(tenant, before).select(['key', 'owner', 'session_id']).orderBy('updated_at').limit(limit)
      // Skips locked sessions: a run is claiming them.
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
    oldest: oldestOf(db, 'runs', 'ended_at', sql`ended_at is not null`),
    count: (tenant, before, sessionsBefore) =>
      done(tenant, before)
        .where(({ not }) => not(goesWithSession('runs.session', sessionsBefore)))
        .select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit, now }) {
      const old = done(tenant, before).select(['owner', 'request_id', 'operation', 'ended_at']).orderBy('ended_at').limit(limit)
      const { rows } = await query(connection, isShared ? old.forUpdate().skipLocked() : old)
      await removeRuns(db, connection, tenant, rows, now)
      return rows.length
    },
  }
}

/** True when the session with the key in the column `key` expires too, so that its rows are removed with the session. */
function goesWithSession(key: string, before: number) {
  return sql<boolean>`exists (select 1 from sessions where sessions.key = ${sql.ref(key)} and sessions.updated_at < ${before}
    and sessions.active_run is null and not exists (select 1 from ${callbacks}) and not exists (select 1 from ${executions}))`
}

/** True when all sources of a memory are sessions that expire. */
function isLearnedAlone(before: number) {
  const sources = sql`select 1 from memory_sources where memory_sources.memory = memories.id`
  return sql<boolean>`(exists (${sources}) and not exists (${sources} and not ${goesWithSession('memory_sources.session', before)}))`
}

function agedTombstones(db: Kysely<Tables>): RetentionQueries {
  // A literal value, because the partial index of tombstones is not used with a parameter.
  const isTombstone = sql<boolean>`status = 'gone'`
  const old = (tenant: string, before: number) =>
    db.selectFrom('runs').where('tenant', '=', tenant).where(isTombstone).where('gone_at', '<', before)
  return {
    oldest: oldestOf(db, 'runs', 'gone_at', isTombstone),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const { rows } = await query(connection, old(tenant, before).select(['owner', 'request_id']).orderBy('gone_at').limit(limit))
      if (rows.length === 0) return 0
      const isInBatch = isInPairs(['request_id', 'owner'], rows)
      await query(connection, db.deleteFrom('async_events').where('tenant', '=', tenant).where(isInBatch))
      await query(connection, db.deleteFrom('runs').where('tenant', '=', tenant).where(isTombstone).where(isInBatch))
      return rows.length
    },
  }
}

function agedMemories(db: Kysely<Tables>): RetentionQueries {
  const old = (tenant: string, before: number) => db.selectFrom('memories').where('tenant', '=', tenant).where('updated_at', '<', before)
  return {
    oldest: oldestOf(db, 'memories', 'updated_at'),
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
    oldest: oldestOf(db, 'access_keys', 'expires_at'),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const expiredKeys = old(tenant, before).select('jti').orderBy('expires_at').limit(limit)
      return (await query(connection, db.deleteFrom('access_keys').where(whereTenant(tenant)).where('jti', 'in', expiredKeys))).changes
    },
  }
}

function agedUploads(database: Database): RetentionQueries {
  const { db } = database
  // A literal value, because the partial index is not used with a parameter.
  const isPruned = sql<boolean>`purpose <> 'knowledge'`
  const old = (tenant: string, before: number) =>
    db.selectFrom('uploads').where('tenant', '=', tenant).where(isPruned).where('created_at', '<', before)
  return {
    oldest: oldestOf(db, 'uploads', 'created_at', isPruned),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit, now }) {
      const { rows } = await query(connection, old(tenant, before).select(['tenant', 'id']).orderBy('created_at').limit(limit))
      return removeUploads(database, connection, rows, now)
    },
  }
}

function agedMetrics(db: Kysely<Tables>): RetentionQueries {
  // Metrics of hours with logs stay, because log entries are counted by metrics.
  const hasLogs = sql<boolean>`exists (select 1 from runs where runs.tenant = metrics.tenant and runs.ended_at is not null
    and runs.ended_at >= metrics.hour - metrics.hour % ${sql.lit(hourMs)} and runs.ended_at < metrics.hour - metrics.hour % ${sql.lit(hourMs)} + ${sql.lit(hourMs)})`
  const old = (tenant: string, before: number) =>
    db
      .selectFrom('metrics')
      .where('tenant', '=', tenant)
      .where('hour', '<', before)
      .where(({ not }) => not(hasLogs))
  return {
    oldest: oldestOf(db, 'metrics', 'hour'),
    count: (tenant, before) => old(tenant, before).select(({ fn }) => fn.countAll<number>().as('count')),
    async remove({ connection, tenant, before, limit }) {
      const oldHours = old(tenant, before).select('hour').orderBy('hour').limit(limit)
      return (await query(connection, db.deleteFrom('metrics').where('tenant', '=', tenant).where('hour', 'in', oldHours))).changes
    },
  }
}
