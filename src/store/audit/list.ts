import { sql, type RawBuilder } from 'kysely'
import type { AuditFilters, AuditPage, AuditReader, ListedEvent } from '../../audit/reader.ts'
import { query, type Database } from '../database.ts'
import type { AuditEventRow, AuditHeadRow } from '../tables.ts'
import { toSealedEvent, toSignedHead } from './rows.ts'

/** Events that one page of the list reads at most: a filter without an index never reads the whole ledger at once. */
const scanned = 10_000
/** An id has the time of its event, but for clocks that were set back. */
const clockSlackMs = 3_600_000

const and = sql` and `

/** The condition of the index of rare acts. */
const isRare = sql`action not in ('tool.started', 'tool.ended')`

function isIndexed({ action, requestId }: AuditFilters): boolean {
  return action !== undefined && action !== 'tool.started' && action !== 'tool.ended' && requestId === undefined
}

/** The id. With a run, which has few events, as an expression: SQLite would read all events of the tenant in the order of an index of ids. */
function idOf({ requestId }: AuditFilters) {
  return requestId === undefined ? sql`id` : sql`id || ''`
}

/** `AuditReader` on either database. */
export function createAuditReader(database: Database): AuditReader {
  const { db } = database
  async function rows<R>(tenant: string, text: RawBuilder<R>): Promise<R[]> {
    return (await query(database.forTenant(tenant).read, { compile: () => text.compile(db) })).rows
  }

  return {
    async list(tenant, page) {
      const { limit } = page
      const events = sql`from audit_events where ${sql.join(boundsOf(tenant, page), and)} order by ${idOf(page)} desc`
      const filters = filtersOf(page)
      const matches = await rows<AuditEventRow>(
        tenant,
        filters.length === 0
          ? sql`select * ${events} limit ${limit + 1}`
          : sql`select * from (select * ${events} limit ${scanned}) as scanned where ${sql.join(filters, and)} order by id desc limit ${limit + 1}`,
      )
      const listed = matches.slice(0, limit).map(toListed)
      const newest = listed.at(-1)?.id ?? ''
      if (filters.length === 0 || matches.length > limit) return { events: listed, offset: newest, has_more: matches.length > limit }
      const [last] = await rows<{ id: string }>(tenant, sql`select id ${events} limit 1 offset ${scanned - 1}`)
      return { events: listed, offset: last?.id ?? newest, has_more: last !== undefined }
    },

    async heads(tenant, { limit, before }) {
      const older = before ? sql`and (seq, kind) < (${before.seq}, ${before.kind})` : sql``
      const text = sql<AuditHeadRow>`select * from audit_heads where tenant = ${tenant} ${older} order by seq desc, kind desc limit ${limit}`
      return (await rows(tenant, text)).map(toSignedHead)
    },
  }
}

/** Conditions that an index selects by. Ids grow with time, so the bounds of the time bound the ids too: few events are read in vain. */
function boundsOf(tenant: string, page: AuditPage) {
  const { action, requestId, since, until, before } = page
  const id = idOf(page)
  return [
    sql`tenant = ${tenant}`,
    ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
    ...(isIndexed(page) ? [sql`action = ${action} and ${isRare}`] : []),
    ...(since === undefined ? [] : [sql`${id} >= ${firstId(since - clockSlackMs)} and at >= ${since}`]),
    ...(until === undefined ? [] : [sql`${id} < ${firstId(until + clockSlackMs)} and at < ${until}`]),
    ...(before === undefined ? [] : [sql`${id} < ${before}`]),
  ]
}

/** Conditions that are compared event by event. */
function filtersOf(filters: AuditFilters) {
  const { action, actor, target } = filters
  return [
    ...(action === undefined || isIndexed(filters) ? [] : [sql`action = ${action}`]),
    ...(actor === undefined ? [] : [sql`(sub = ${actor} or jti = ${actor} or issuer || ' ' || sub = ${actor})`]),
    ...(target === undefined ? [] : [sql`target = ${target}`]),
  ]
}

/** The least UUIDv7 of a time. */
function firstId(ms: number): string {
  const digits = Math.min(Math.max(0, ms), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}

function toListed(row: AuditEventRow): ListedEvent {
  const { tenant: _, ...event } = toSealedEvent(row, row.seq ?? 0)
  return { ...event, seq: row.seq, hash: row.hash }
}
