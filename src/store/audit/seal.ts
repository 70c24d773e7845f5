import { sql, type Kysely } from 'kysely'
import { chainHash, firstHash } from '../../audit/event.ts'
import { chainMac, isOwnEnd, type ChainEnd, type LedgerKeys, type SignedHead } from '../../audit/heads.ts'
import type { Sealing, SealStore } from '../../audit/seal.ts'
import type { NewJob } from '../../runs/jobs.ts'
import { allSettledOrThrow, query, statement, type Connection, type Database, type Statement } from '../database.ts'
import type { AuditChainRow, AuditEventRow, Tables } from '../tables.ts'
import { toHeadRow, toSealedEvent } from './rows.ts'

/** A head is signed after this time, or after this number of events. */
const headMs = 3_600_000
const headEvents = 1000
/** Tenants of one pass. The next pass finds the others. */
const maxTenants = 1000

/** `SealStore` on either database. `toJob`: the job that sends a head. */
export function createSealStore(database: Database, toJob?: (head: SignedHead) => NewJob): SealStore {
  const { db, all, jobs } = database
  const sealOne = createSealOne(db)
  return {
    async unsealed() {
      const tenants = db
        .selectFrom('audit_events')
        .select('tenant')
        .distinct()
        .where(sql<boolean>`seq is null`)
      return (await query(all.read, tenants.limit(maxTenants))).rows.map(({ tenant }) => tenant)
    },
    seal: (tenant, options) => database.forTenant(tenant).unit((connection) => seal(database, sealOne, connection, { tenant, ...options })),
    async unsigned(which) {
      const ends = db.selectFrom('audit_chains').select(['tenant', 'seq', 'hash', 'kid', 'mac']).where('sign_at', 'is not', null)
      const chosen = 'now' in which ? ends.where('sign_at', '<=', which.now).limit(maxTenants) : ends.where('tenant', '=', which.tenant)
      return (await query(all.read, chosen)).rows
    },
    addHead: (head, now) =>
      database.forTenant(head.tenant).unit(async (connection) => {
        const insert = db.insertInto('audit_heads').values(toHeadRow(head))
        const { changes } = await query(
          connection,
          insert.onConflict((conflict) => conflict.doNothing()),
        )
        const next = sql<number | null>`case when seq > ${head.seq} then ${sql.lit(now + headMs)} end`
        const signed = db.updateTable('audit_chains').set({ signed_seq: head.seq, sign_at: next }).where('tenant', '=', head.tenant)
        await query(connection, signed.where('signed_seq', '<', head.seq))
        if (changes > 0 && toJob) await jobs.insert(connection, [toJob(head)])
        return changes > 0
      }),
  }
}

interface SealOptions {
  tenant: string
  limit: number
  now: number
  keys: LedgerKeys
}

/**
 * On Postgres one transaction seals events of a tenant at a time: its lock is taken before anything is read. The unique number of an event is the
 * second barrier.
 */
async function seal(
  database: Database,
  sealOne: Statement<Seal, unknown>,
  connection: Connection,
  options: SealOptions,
): Promise<Sealing | undefined> {
  const { tenant, limit, now, keys } = options
  const { db, isShared } = database
  const [held, chains, lasts, waiting] = await allSettledOrThrow([
    isShared ? connection.execute<{ held: boolean }>(tryLock, [`audit ${tenant}`]) : undefined,
    query(connection, db.selectFrom('audit_chains').selectAll().where('tenant', '=', tenant)),
    query(connection, lastOf(db, tenant)),
    query(connection, unsealedOf(database, tenant).limit(limit)),
  ])
  if (held && !held.rows[0]!.held) return undefined
  const events = waiting.rows
  if (events.length === 0) return { count: 0 }
  const chain = chains.rows[0]
  const { start, fault } = startOf(chain, lasts.rows[0], tenant, keys)
  const end = await chainEvents(sealOne, connection, events, start)
  const isDue = end.seq - (chain?.signed_seq ?? 0) >= headEvents
  const { kid } = keys.newest()
  const mac = chainMac(end, keys.chainKey(kid)!)
  const row = { ...end, kid, mac, signed_seq: chain?.signed_seq ?? 0, sign_at: isDue ? now : (chain?.sign_at ?? now + headMs) }
  const upsert = db.insertInto('audit_chains').values(row)
  await query(
    connection,
    upsert.onConflict((conflict) => conflict.column('tenant').doUpdateSet(row)),
  )
  return { count: events.length, ...(fault !== undefined && { fault }), ...(isDue && { due: end }) }
}

const tryLock = 'select pg_try_advisory_xact_lock(hashtextextended($1, 39)) as held'

/** The last sealed event of a tenant, or else the last cut. */
function lastOf(db: Kysely<Tables>, tenant: string) {
  const events = db
    .selectFrom('audit_events')
    .select(['seq', 'hash'])
    .where('tenant', '=', tenant)
    .where(sql<boolean>`seq is not null`)
  const cuts = db.selectFrom('audit_heads').select(['seq', 'hash']).where('tenant', '=', tenant).where('kind', '=', 'cut')
  const last = db.selectFrom(events.orderBy('seq', 'desc').limit(1).as('e')).selectAll()
  const cut = db.selectFrom(cuts.orderBy('seq', 'desc').limit(1).as('c')).selectAll()
  return db
    .selectFrom(last.unionAll(cut).as('last'))
    .select([sql<number>`seq`.as('seq'), sql<string>`hash`.as('hash')])
    .orderBy('seq', 'desc')
    .limit(1)
}

/** In the order of their inserts. */
function unsealedOf({ db, isShared }: Database, tenant: string) {
  const unsealed = db.selectFrom('audit_events').selectAll().where('tenant', '=', tenant)
  return unsealed.where(sql<boolean>`seq is null`).orderBy(isShared ? sql`ord` : sql`rowid`)
}

/**
 * Where the chain goes on: behind its stored end. Where the end or the last event is not what the service has stored, a number stays free: the
 * service does not make another program's change right.
 */
function startOf(chain: AuditChainRow | undefined, last: Pick<ChainEnd, 'seq' | 'hash'> | undefined, tenant: string, keys: LedgerKeys) {
  const end: ChainEnd = chain ?? { tenant, seq: 0, hash: firstHash }
  const isOwn = chain === undefined || isOwnEnd(chain, keys)
  const { seq, hash } = last ?? { seq: 0, hash: firstHash }
  if (isOwn && seq === end.seq && hash === end.hash) return { start: end }
  const fault = isOwn
    ? `The chain ended at seq ${end.seq}, and the last event is seq ${seq}: another program changed the ledger.`
    : 'The end of the chain was changed by another program, or its signing key is gone.'
  return { start: { tenant, seq: Math.max(end.seq, seq) + 1, hash: end.hash }, fault }
}

/** Numbers and chains events. Returns the new end. The salt of an event goes where its run was deleted since. */
async function chainEvents(
  sealOne: Statement<Seal, unknown>,
  connection: Connection,
  events: readonly AuditEventRow[],
  start: ChainEnd,
): Promise<ChainEnd> {
  const { tenant } = start
  let { seq, hash } = start
  const sealed = events.map((row) => {
    const previous = hash
    seq += 1
    hash = chainHash(previous, toSealedEvent(row, seq))
    return { tenant, id: row.id, seq, prev_hash: previous, hash }
  })
  const results = await allSettledOrThrow(sealed.map((row) => sealOne(connection, row)))
  if (results.some(({ changes }) => changes !== 1)) throw new Error('Another process has sealed events of the tenant.')
  return { tenant, seq, hash }
}

type Seal = Pick<AuditEventRow, 'tenant' | 'id' | 'seq' | 'prev_hash' | 'hash'>

/** Seals one event, found by its key: for a join with a list, a database without statistics reads all events of the tenant for each. */
function createSealOne(db: Kysely<Tables>) {
  return statement<Seal, unknown>(db, (db, param) => {
    const isGone = sql`exists (select 1 from runs where runs.tenant = audit_events.tenant and runs.owner = audit_events.owner
      and runs.request_id = audit_events.request_id and runs.status = 'gone')`
    const salt = sql<string | null>`case when salt is null or ${isGone} then null else salt end`
    return db
      .updateTable('audit_events')
      .set({ seq: param('seq'), prev_hash: param('prev_hash'), hash: param('hash'), salt })
      .where('tenant', '=', param('tenant'))
      .where('id', '=', param('id'))
  })
}
