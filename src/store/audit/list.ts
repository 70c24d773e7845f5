import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../audit/event.ts'
import type { AuditFilters, AuditHead, AuditPage, AuditReader, ExportLine, ListedEvent } from '../../audit/reader.ts'
import { query, type Database } from '../database.ts'
import { parseJson } from '../rows.ts'
import type { AuditEventRow, AuditHeadRow } from '../tables.ts'

/** Events that one page of the list reads at most: a filter without an index never reads the whole ledger at once. */
const scanned = 10_000
/** Events that one page of an export has. */
const exported = 500
/** Events of a border that are compared: their ids are not exactly in the order of the chain. */
const bordering = 1000
/** An id has the time of its event, but for clocks that were set back. */
const clockSlackMs = 3_600_000

const and = sql` and `

/** `AuditReader` on either database. */
export function createAuditReader(database: Database): AuditReader {
  const { db } = database
  async function rows<R>(tenant: string, text: RawBuilder<R>): Promise<R[]> {
    return (await query(database.forTenant(tenant).read, { compile: () => text.compile(db) })).rows
  }

  function headsOf(tenant: string, from: number, to: number): Promise<AuditHeadRow[]> {
    return rows(
      tenant,
      sql<AuditHeadRow>`select * from audit_heads where tenant = ${tenant} and seq between ${from} and ${to} order by seq`,
    )
  }

  return {
    async list(tenant, page) {
      const { limit } = page
      const events = sql`from audit_events where ${sql.join(boundsOf(tenant, page), and)} order by id desc`
      const filters = filtersOf(page)
      const found = await rows<AuditEventRow>(
        tenant,
        filters.length === 0
          ? sql`select * ${events} limit ${limit + 1}`
          : sql`select * from (select * ${events} limit ${scanned}) as scanned where ${sql.join(filters, and)} order by id desc limit ${limit + 1}`,
      )
      const listed = found.slice(0, limit).map(toListed)
      const newest = listed.at(-1)?.id ?? ''
      if (filters.length === 0 || found.length > limit) return { events: listed, offset: newest, has_more: found.length > limit }
      const [last] = await rows<{ id: string }>(tenant, sql`select id ${events} limit 1 offset ${scanned - 1}`)
      return { events: listed, offset: last?.id ?? newest, has_more: last !== undefined }
    },

    async heads(tenant, { limit, before }) {
      const older = before ? sql`and (seq, kind) < (${before.seq}, ${before.kind})` : sql``
      const text = sql<AuditHeadRow>`select * from audit_heads where tenant = ${tenant} ${older} order by seq desc, kind desc limit ${limit}`
      return (await rows(tenant, text)).map(toHead)
    },

    async *export(tenant, span) {
      const [[first], [last]] = await Promise.all([rows(tenant, firstOf(tenant, span)), rows(tenant, lastOf(tenant, span))])
      const [start, end] = [first?.seq ?? Infinity, last?.seq ?? 0]
      // The head before the first event, which may be where retention has cut, signs the hash that the first event goes on from.
      if (start <= end) yield (await headsOf(tenant, start - 1, start - 1)).map(toHeadLine)
      for (let from = start; from <= end; from += exported) {
        const to = Math.min(from + exported - 1, end)
        const events = sql<AuditEventRow>`select * from audit_events where tenant = ${tenant} and seq between ${from} and ${to} order by seq`
        yield toLines(...(await Promise.all([rows(tenant, events), headsOf(tenant, from, to)])))
      }
    },
  }
}

/** What an index selects. Ids grow with time, so the bounds of the time bound the ids too. */
function boundsOf(tenant: string, { requestId, since, until, before }: Pick<AuditPage, 'requestId' | 'since' | 'until' | 'before'>) {
  return [
    sql`tenant = ${tenant}`,
    ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
    ...(since === undefined ? [] : [sql`id >= ${firstId(since - clockSlackMs)}`]),
    ...(until === undefined ? [] : [sql`id < ${firstId(until + clockSlackMs)}`]),
    ...(before === undefined ? [] : [sql`id < ${before}`]),
  ]
}

/** What is compared event by event. */
function filtersOf({ action, actor, target, since, until }: AuditFilters) {
  return [
    ...(action === undefined ? [] : [sql`action = ${action}`]),
    ...(actor === undefined ? [] : [sql`(sub = ${actor} or jti = ${actor} or issuer || ' ' || sub = ${actor})`]),
    ...(target === undefined ? [] : [sql`target = ${target}`]),
    ...(since === undefined ? [] : [sql`at >= ${since}`]),
    ...(until === undefined ? [] : [sql`at < ${until}`]),
  ]
}

type Span = Pick<AuditFilters, 'since' | 'until'>
const unbounded = { requestId: undefined, since: undefined, until: undefined, before: undefined }

function firstOf(tenant: string, { since }: Span): RawBuilder<{ seq: number | null }> {
  const where = [...boundsOf(tenant, { ...unbounded, since }), ...(since === undefined ? [] : [sql`at >= ${since}`]), sql`seq is not null`]
  return sql`select min(seq) as seq from (select seq from audit_events where ${sql.join(where, and)} order by id limit ${bordering}) as bordering`
}

function lastOf(tenant: string, { until }: Span): RawBuilder<{ seq: number | null }> {
  const where = [...boundsOf(tenant, { ...unbounded, until }), ...(until === undefined ? [] : [sql`at < ${until}`]), sql`seq is not null`]
  return sql`select max(seq) as seq from (select seq from audit_events where ${sql.join(where, and)} order by id desc limit ${bordering}) as bordering`
}

/** The least UUIDv7 of a time. */
function firstId(ms: number): string {
  const digits = Math.min(Math.max(0, ms), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}

function toListed(row: AuditEventRow): ListedEvent {
  const { id, at, issuer, sub, jti, via, action, target, outcome, request_id, config_version, data, seq, hash } = row
  const actor: Actor = { issuer, sub, ...(jti !== null && { jti }), via: via as Actor['via'] }
  const written = { action, target, outcome, request_id, config_version, data: parseJson<ListedEvent['data'] & object>(data) ?? null }
  return { id, seq, at: toIso(at), actor, ...written, hash }
}

function toHead({ seq, kind, hash, at, kid, jws }: AuditHeadRow): AuditHead {
  return { seq, kind, hash, at: toIso(at), kid, jws }
}

function toHeadLine(head: AuditHeadRow): ExportLine {
  return { type: 'head', ...toHead(head) }
}

/** Heads follow the events that they sign. */
function toLines(events: readonly AuditEventRow[], heads: readonly AuditHeadRow[]): ExportLine[] {
  const headsBySeq = Map.groupBy(heads, ({ seq }) => seq)
  return events.flatMap((row) => {
    const { hash, seq, ...event } = toListed(row)
    const line: ExportLine = { type: 'event', tenant: row.tenant, ...event, seq: seq!, prev_hash: row.prev_hash!, hash: hash! }
    return [line, ...(headsBySeq.get(seq!) ?? []).map(toHeadLine)]
  })
}

function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
