import type { AccessKeyRecord, AccessKeyStore } from '../../access/keys/access-key-store.ts'
import { query, type Database } from '../database.ts'
import type { AccessKeyRow } from '../tables.ts'

/** `AccessKeyStore` on either database. */
export function createAccessKeyStore(database: Database): AccessKeyStore {
  const { db, all } = database
  return {
    async insert({ jti, tenant, sub, roles, createdAt, expiresAt, revokedAt }) {
      const times = { created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt ?? null }
      const row = { jti, tenant, sub, roles: JSON.stringify(roles), ...times }
      const insert = db
        .insertInto('access_keys')
        .values(row)
        .onConflict((conflict) => conflict.column('jti').doNothing())
      await database.forTenant(tenant).unit((connection) => query(connection, insert))
    },

    async list(tenant) {
      const keys = db.selectFrom('access_keys').selectAll().orderBy('created_at', 'desc').orderBy('jti', 'desc')
      const { rows } = await (tenant === undefined
        ? query(all.read, keys)
        : query(database.forTenant(tenant).read, keys.where('tenant', '=', tenant)))
      return rows.map(toRecord)
    },

    async revoke(jti, at) {
      const revoked = db.updateTable('access_keys').set({ revoked_at: at }).where('jti', '=', jti).where('revoked_at', 'is', null)
      return (await all.unit((connection) => query(connection, revoked))).changes > 0
    },

    async latestExpiry() {
      const latest = db
        .selectFrom('access_keys')
        .select(({ fn }) => fn.max('expires_at').as('latest'))
        .where('revoked_at', 'is', null)
      return (await query(all.read, latest)).rows[0]?.latest ?? 0
    },

    async revokedSince(ms) {
      // `is not null` is redundant, but needed to use the index of revoked keys.
      const since = db
        .selectFrom('access_keys')
        .select(['jti', 'revoked_at'])
        .where('revoked_at', 'is not', null)
        .where('revoked_at', '>=', ms)
      const { rows } = await query(all.read, since)
      return rows.map(({ jti, revoked_at }) => ({ jti, revokedAt: revoked_at ?? 0 }))
    },
  }
}

function toRecord(row: AccessKeyRow): AccessKeyRecord {
  const { jti, tenant, sub, roles, created_at, expires_at, revoked_at } = row
  const record = { jti, tenant, sub, roles: JSON.parse(roles) as string[], createdAt: created_at, expiresAt: expires_at }
  return revoked_at === null ? record : { ...record, revokedAt: revoked_at }
}
