import type { ConsoleStore, Grant, NewConsoleEntry } from '../../access/console/console-sessions.ts'
import type { Identity } from '../../access/identity.ts'
import type { Act } from '../../audit/acts.ts'
import { query, type Database, type Connection } from '../database.ts'

const tables = ['console_codes', 'console_sessions'] as const

/** `ConsoleStore` on either database. A secret names its row whatever the tenant, so that lookups by a secret see all tenants. */
export function createConsoleStore(database: Database): ConsoleStore {
  const { db, all, ledger } = database

  /** Callers of the console act for their key. */
  const record = (connection: Connection, { identity, keyId }: Grant, act: Pick<Act, 'action' | 'data'>) =>
    ledger.record(connection, identity.tenant, { ...identity, via: 'console' }, { ...act, target: `key:${keyId}` })

  /** Removes all but the newest `keep` entries of a key. */
  async function trim(connection: Connection, table: (typeof tables)[number], entry: NewConsoleEntry, keep: number): Promise<void> {
    const { keyId, identity } = entry
    const oldest = db
      .selectFrom(table)
      .select('hash')
      .where('tenant', '=', identity.tenant)
      .where('issuer', '=', identity.issuer)
      .where('key_id', '=', keyId)
      .orderBy('created_at', 'desc')
      .orderBy('hash')
      .limit(largestTrim)
      .offset(keep)
    await query(connection, db.deleteFrom(table).where('tenant', '=', identity.tenant).where('hash', 'in', oldest))
  }

  return {
    async addCode(code, keep) {
      await database.forTenant(code.identity.tenant).unit(async (connection) => {
        await query(connection, db.insertInto('console_codes').values({ ...toRow(code), used_at: null }))
        await trim(connection, 'console_codes', code, keep)
      })
    },

    async takeCode(hash, now) {
      const take = db
        .updateTable('console_codes')
        .set({ used_at: now })
        .where('hash', '=', hash)
        .where('used_at', 'is', null)
        .where('expires_at', '>', now)
        .returning(['identity', 'key_id'])
      const [row] = (await all.unit((connection) => query(connection, take))).rows
      return row && toGrant(row)
    },

    async addSession(session, { keep, replaced, method }) {
      // The replaced session may belong to another tenant.
      await all.unit(async (connection) => {
        if (replaced !== undefined) await query(connection, db.deleteFrom('console_sessions').where('hash', '=', replaced))
        await query(connection, db.insertInto('console_sessions').values(toRow(session)))
        await trim(connection, 'console_sessions', session, keep)
        if (method) await record(connection, session, { action: 'console.signed_in', data: { method } })
      })
    },

    async findSession(hash, now) {
      const session = db
        .selectFrom('console_sessions')
        .select(['identity', 'key_id', 'expires_at'])
        .where('hash', '=', hash)
        .where('expires_at', '>', now)
      const [row] = (await query(all.read, session)).rows
      return row && { ...toGrant(row), expiresAt: row.expires_at }
    },

    async removeSession(hash) {
      const removal = db.deleteFrom('console_sessions').where('hash', '=', hash).returning(['identity', 'key_id'])
      await all.unit(async (connection) => {
        const [row] = (await query(connection, removal)).rows
        if (row) await record(connection, toGrant(row), { action: 'console.signed_out' })
      })
    },

    async removeExpired(now, limit) {
      let removed = 0
      for (const table of tables) {
        const expired = db.selectFrom(table).select('hash').where('expires_at', '<=', now).orderBy('expires_at').limit(limit)
        removed += (await all.unit((connection) => query(connection, db.deleteFrom(table).where('hash', 'in', expired)))).changes
      }
      return removed
    },
  }
}

/** SQLite has no offset without a limit. Each call adds one entry, so a trim removes few. */
const largestTrim = 1000

function toRow({ hash, identity, keyId, createdAt, expiresAt }: NewConsoleEntry) {
  const { tenant, issuer } = identity
  return { hash, tenant, issuer, key_id: keyId, identity: JSON.stringify(identity), created_at: createdAt, expires_at: expiresAt }
}

function toGrant({ identity, key_id }: { identity: string; key_id: string }): Grant {
  const stored = JSON.parse(identity) as Identity
  // JSON has no undefined: a key of an identity provider has neither id.
  return { identity: { ...stored, keyId: stored.keyId, signingKeyId: stored.signingKeyId }, keyId: key_id }
}
