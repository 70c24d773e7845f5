import { sql } from 'kysely'
import { signHead, type LedgerKeys, type SignedHead } from '../../audit/heads.ts'
import { createVerifier, LedgerBroken } from '../../audit/verify.ts'
import { query, type Database } from '../database.ts'
import { createLedgerSource } from './read.ts'
import { toHeadRow, toSignedHead } from './rows.ts'

/** What the removal of old events needs beside the database. */
export interface LedgerCuts {
  keys: LedgerKeys
  /** Epoch milliseconds. */
  now(): number
  /** Reports events that are kept, because another program has changed the ledger: a cut would make the change right. */
  onBroken(tenant: string, fault: string): void
}

/**
 * Removes old events from the front of a chain, up to a signed head. The events are checked, then a cut is signed, then the rows go: the guards of
 * the table allow the removal of what lies before a cut.
 */
export function createLedgerRetention(database: Database, cuts?: LedgerCuts) {
  const { db } = database
  const source = createLedgerSource(database)
  const events = (tenant: string) =>
    db
      .selectFrom('audit_events')
      .where('tenant', '=', tenant)
      .where(sql<boolean>`seq is not null`)
  const heads = (tenant: string, kind: 'head' | 'cut') => db.selectFrom('audit_heads').where('tenant', '=', tenant).where('kind', '=', kind)

  async function removeBeforeCut(tenant: string, limit: number): Promise<number> {
    const cut = heads(tenant, 'cut').select(({ fn }) => fn.max('seq').as('seq'))
    const removed = events(tenant).select('id').where('seq', '<=', cut).orderBy('seq').limit(limit)
    const deletion = db.deleteFrom('audit_events').where('tenant', '=', tenant).where('id', 'in', removed)
    return database.forTenant(tenant).unit(async (connection) => (await query(connection, deletion)).changes)
  }

  /** The next head, where it and all events before are right and older than `before`. */
  async function nextCut(tenant: string, before: number, keys: LedgerKeys): Promise<SignedHead | undefined> {
    const verifier = createVerifier({ keys: keys.publicKeys(), isWhole: true })
    for await (const link of (await source.open(tenant)).links) {
      if ('event' in link && Date.parse(link.event.at) >= before) return undefined
      verifier.add(link)
      if ('head' in link && link.head.kind === 'head') return link.head
    }
    return undefined
  }

  async function advanceCut(tenant: string, before: number, { keys, now, onBroken }: LedgerCuts): Promise<boolean> {
    const next = await nextCut(tenant, before, keys).catch((error: unknown) => {
      if (!(error instanceof LedgerBroken)) throw error
      onBroken(tenant, error.message)
      return undefined
    })
    if (!next) return false
    const cut = await signHead({ ...next, kind: 'cut', at: new Date(now()).toISOString() }, keys)
    await database.forTenant(tenant).unit(async (connection) => {
      const insert = db.insertInto('audit_heads').values(toHeadRow(cut))
      await query(
        connection,
        insert.onConflict((conflict) => conflict.doNothing()),
      )
      const old = db.deleteFrom('audit_heads').where('tenant', '=', tenant).where('seq', '<=', cut.seq)
      await query(
        connection,
        old.where(({ eb, or }) => or([eb('kind', '=', 'head'), eb('seq', '<', cut.seq)])),
      )
    })
    return true
  }

  return {
    async count(tenant: string, before: number): Promise<number> {
      const { read } = database.forTenant(tenant)
      const young = await query(read, events(tenant).select('seq').where('at', '>=', before).orderBy('seq').limit(1))
      const last = heads(tenant, 'head')
        .selectAll()
        .where('seq', '<', young.rows[0]?.seq ?? Number.MAX_SAFE_INTEGER)
      const head = (await query(read, last.orderBy('seq', 'desc').limit(1))).rows.map(toSignedHead)[0]
      if (!head || !cuts) return 0
      const old = events(tenant).where('seq', '<=', head.seq)
      return (
        (
          await query(
            read,
            old.select(({ fn }) => fn.countAll<number>().as('count')),
          )
        ).rows[0]?.count ?? 0
      )
    },
    async remove(tenant: string, before: number, limit: number): Promise<number> {
      const removed = await removeBeforeCut(tenant, limit)
      if (removed > 0 || !cuts || !(await advanceCut(tenant, before, cuts))) return removed
      return removeBeforeCut(tenant, limit)
    },
  }
}
