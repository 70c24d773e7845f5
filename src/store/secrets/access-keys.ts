import type { AccessKeyRecord, AccessKeyStore } from '../../access/keys/access-key-store.ts'
import { ownIssuer } from '../../access/principal.ts'
import { query, type Database } from '../database.ts'
import type { AccessKeyRow } from '../tables.ts'

/** `AccessKeyStore` on either database. */
export function createAccessKeyStore(database: Database): AccessKeyStore {
  const { db, all } = database
  const newestFirst = () => db.selectFrom('access_keys').selectAll().orderBy('created_at', 'desc').orderBy('jti', 'desc')
  return {
    async insert({ jti, tenant, sub, roles, createdAt, expiresAt, revokedAt, lastUsedAt }) {
      const times = { created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt ?? null, last_used_at: lastUsedAt ?? null }
      const row = { jti, tenant, sub, roles: JSON.stringify(roles), ...times }
      const insert = db
        .insertInto('access_keys')
        .values(row)
        .onConflict((conflict) => conflict.column('jti').doNothing())
      await database.forTenant(tenant).unit((connection) => query(connection, insert))
    },

    async list(tenant) {
      const keys = newestFirst()
      const { rows } = await (tenant === undefined
        ? query(all.read, keys)
        : query(database.forTenant(tenant).read, keys.where('tenant', '=', tenant)))
      return rows.map(toRecord)
    },

    async page(tenant, { limit, before }) {
      let page = newestFirst().where('tenant', '=', tenant).limit(limit)
      if (before) {
        page = page.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'jti'), '<', tuple(before.createdAt, before.jti)))
      }
      return (await query(database.forTenant(tenant).read, page)).rows.map(toRecord)
    },

    async revoke(jti, at, tenant) {
      const scope = tenant === undefined ? all : database.forTenant(tenant)
      return scope.unit(async (connection) => {
        let key = db.selectFrom('access_keys').select(['tenant', 'revoked_at']).where('jti', '=', jti)
        if (tenant !== undefined) key = key.where('tenant', '=', tenant)
        const [row] = (await query(connection, database.isShared ? key.forUpdate() : key)).rows
        if (!row) return undefined
        const isNew = row.revoked_at === null
        if (isNew) await query(connection, db.updateTable('access_keys').set({ revoked_at: at }).where('jti', '=', jti))
        for (const table of ['console_sessions', 'console_codes'] as const) {
          const ofKey = db.deleteFrom(table).where('tenant', '=', row.tenant).where('issuer', '=', ownIssuer).where('key_id', '=', jti)
          await query(connection, ofKey)
        }
        return { jti, revokedAt: row.revoked_at ?? at, isNew }
      })
    },

    async markUsed(jtis, at, staleBefore) {
      const stale = db
        .selectFrom('access_keys')
        .select('jti')
        .where('jti', 'in', [...jtis])
        .where(({ eb, or }) => or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', staleBefore)]))
      // A row that another process updates at the moment gets its time from there.
      const unlocked = database.isShared ? stale.forUpdate().skipLocked() : stale
      const update = db.updateTable('access_keys').set({ last_used_at: at }).where('jti', 'in', unlocked)
      // Not retried: the caller keeps the uses for its next call.
      await all.unit((connection) => query(connection, update), { retryForMs: 0 })
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
  const { jti, tenant, sub, roles, created_at, expires_at, revoked_at, last_used_at } = row
  const record = { jti, tenant, sub, roles: JSON.parse(roles) as string[], createdAt: created_at, expiresAt: expires_at }
  return {
    ...record,
    ...(revoked_at !== null && { revokedAt: revoked_at }),
    ...(last_used_at !== null && { lastUsedAt: last_used_at }),
  }
}
