import { randomUUIDv7 } from 'node:crypto'
import type { Kysely } from 'kysely'
import { type LedgerRules, toEvent } from '../../audit/acts.ts'
import type { Ledger } from '../database.ts'
import type { Tables } from '../tables.ts'
import { createRecord } from './record.ts'

/** The ledger of a database. */
export function createLedger(db: Kysely<Tables>): Ledger {
  let rules: LedgerRules = { isEnabled: () => true, version: () => undefined, newId: randomUUIDv7, wake: () => undefined }
  const insert = createRecord(db, () => rules.wake())

  return {
    async record(connection, tenant, acting, acts) {
      const recorded = [acts].flat().filter(({ isAudited }) => isAudited ?? rules.isEnabled())
      if (!acting || recorded.length === 0) return
      const facts = { at: Date.now(), version: rules.version() }
      const events = recorded.map((act) => toEvent(acting, act, { ...facts, id: rules.newId() }))
      await insert(connection, tenant, events)
    },
    store: insert,
    follow: (followed) => void (rules = { ...rules, ...followed }),
  }
}
