import { sql } from 'kysely'
import type { LedgerRange, LedgerSource, Link } from '../../audit/ledger-source.ts'
import { query, type Connection, type Database } from '../database.ts'
import type { AuditEventRow } from '../tables.ts'
import { toSealedEvent, toSignedHead } from './rows.ts'

/** Events that one statement reads. */
const pageSize = 500

/** `LedgerSource` on either database. */
export function createLedgerSource(database: Database): LedgerSource {
  const { db, all } = database
  const events = (tenant: string) => db.selectFrom('audit_events').where('tenant', '=', tenant)
  const sealed = (tenant: string) => events(tenant).where(sql<boolean>`seq is not null`)
  const heads = (tenant: string, kind: 'head' | 'cut') =>
    db.selectFrom('audit_heads').selectAll().where('tenant', '=', tenant).where('kind', '=', kind)

  /** What is stored now, in one statement: a later event or head is no fault. */
  async function positionOf(read: Connection, tenant: string) {
    const last = sealed(tenant).select('seq').orderBy('seq', 'desc').limit(1)
    const lastHead = db.selectFrom(heads(tenant, 'head').orderBy('seq', 'desc').limit(1).as('h')).select('h.seq')
    const lastCut = db.selectFrom(heads(tenant, 'cut').orderBy('seq', 'desc').limit(1).as('c')).select('c.seq')
    const chain = db.selectFrom('audit_chains').selectAll().where('tenant', '=', tenant)
    const position = db
      .selectFrom(db.selectNoFrom([last.as('last'), lastHead.as('head'), lastCut.as('cut')]).as('p'))
      .leftJoin(chain.as('chain'), (join) => join.onTrue())
      .selectAll()
    const { last: seq, head, cut, ...end } = (await query(read, position)).rows[0]!
    const { tenant: _, seq: endSeq, hash, kid, mac } = end
    const isStored = endSeq !== null && hash !== null && kid !== null && mac !== null
    return { upTo: Math.max(seq ?? 0, head ?? 0), cut: cut ?? 0, end: isStored ? { tenant, seq: endSeq, hash, kid, mac } : undefined }
  }

  /** Events behind number `after`, with the heads between. */
  async function* linksBehind(read: Connection, tenant: string, after: number, upTo: number): AsyncGenerator<Link, void> {
    for (let last = after, lastId: string | undefined, isMore = last < upTo; isMore;) {
      const page = sealed(tenant)
        .selectAll()
        .where('seq', lastId === undefined ? '>' : '>=', last)
        .where('seq', '<=', upTo)
      // Another program may have given two events one number.
      const behind = page.where(({ eb, or }) => or([eb('seq', '>', last), eb('id', '>', lastId ?? '')]))
      const { rows } = await query(read, behind.orderBy('seq').orderBy('id').limit(pageSize))
      isMore = rows.length === pageSize
      // Behind the last event there may be heads: of events that were cut off.
      const to = isMore ? rows.at(-1)!.seq! : upTo
      const between = heads(tenant, 'head').where('seq', '>', last).where('seq', '<=', to).orderBy('seq')
      yield* merge(rows, (await query(read, between)).rows.map(toSignedHead))
      last = to
      lastId = rows.at(-1)?.id
    }
  }

  /** The last number that was signed before a time: no earlier number is of a later time. */
  async function numberBefore(read: Connection, tenant: string, time: number): Promise<number> {
    const signed = heads(tenant, 'head').where('at', '<=', time).orderBy('seq', 'desc').limit(1)
    return (await query(read, signed)).rows[0]?.seq ?? 0
  }

  return {
    async tenants() {
      const named = (table: 'audit_events' | 'audit_heads' | 'audit_chains') => db.selectFrom(table).select('tenant')
      const union = named('audit_chains').union(named('audit_heads')).union(named('audit_events')).orderBy('tenant')
      return (await query(all.read, union)).rows.map(({ tenant }) => tenant)
    },
    async open(tenant, range = {}) {
      const { read } = database.forTenant(tenant)
      const { upTo, cut, end } = await positionOf(read, tenant)
      async function* links(): AsyncGenerator<Link, void> {
        const first = range.since === undefined ? 0 : await numberBefore(read, tenant, range.since)
        const cuts = heads(tenant, 'cut').where('seq', '=', cut)
        if (cut > first) for (const row of (await query(read, cuts)).rows) yield { head: toSignedHead(row) }
        yield* linksBehind(read, tenant, Math.max(cut, first), upTo)
      }
      return { links: within(links(), range), end, cut }
    },
    async countUnsealed(tenant) {
      const unsealed = db.selectFrom('audit_events').where(sql<boolean>`seq is null`)
      const counted = (tenant === undefined ? unsealed : unsealed.where('tenant', '=', tenant)).select(({ fn }) =>
        fn.countAll<number>().as('count'),
      )
      return (await query(tenant === undefined ? all.read : database.forTenant(tenant).read, counted)).rows[0]?.count ?? 0
    },
  }
}

function* merge(rows: readonly AuditEventRow[], heads: readonly Extract<Link, { head: unknown }>['head'][]): Generator<Link, void> {
  let next = 0
  for (const row of rows) {
    while (next < heads.length && heads[next]!.seq < row.seq!) yield { head: heads[next++]! }
    yield { event: { ...toSealedEvent(row, row.seq!), prev_hash: row.prev_hash ?? '', hash: row.hash ?? '' } }
  }
  for (const head of heads.slice(next)) yield { head }
}

/** The part of a chain within a time. */
async function* within(links: AsyncIterable<Link>, { since = -Infinity, until = Infinity }: LedgerRange): AsyncGenerator<Link, void> {
  let isBegun = since === -Infinity
  for await (const link of links) {
    const at = 'event' in link ? Date.parse(link.event.at) : undefined
    if (at !== undefined && at >= until) return
    if (at !== undefined && at >= since) isBegun = true
    if (isBegun) yield link
  }
}
