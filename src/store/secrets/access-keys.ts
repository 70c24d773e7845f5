import type { SelectQueryBuilder } from 'kysely'
import type { AccessKeyRecord, AccessKeyStore } from '../../access/keys/keys.ts'
import type { Act, Acting } from '../../audit/acts.ts'
import { ownIssuer } from '../../access/permissions.ts'
import { query, type Database, type Connection } from '../database.ts'
import type { AccessKeyRow, Tables } from '../tables.ts'

/** `AccessKeyStore` on either database. */
export function createAccessKeyStore(database: Database): AccessKeyStore {
  return { ...keyLists(database), ...keyUses(database), ...keyEnds(database) }
}

/** Creates keys, and marks their use. */
function keyUses(database: Database): Pick<AccessKeyStore, 'insert' | 'markUsed'> {
  const { db, all, ledger } = database
  return {
    async insert({ jti, tenant, sub, roles, createdAt, expiresAt, revokedAt, lastUsedAt, creator }, acting) {
      const times = { created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt ?? null, last_used_at: lastUsedAt ?? null }
      const createdBy = { created_by: creator?.owner ?? null, created_by_key: creator?.keyId ?? null }
      const row = { jti, tenant, sub, roles: JSON.stringify(roles), ...times, ...createdBy }
      const insert = db
        .insertInto('access_keys')
        .values(row)
        .onConflict((conflict) => conflict.column('jti').doNothing())
      return database.forTenant(tenant).unit(async (connection) => {
        const ofCreator = db
          .selectFrom('access_keys')
          .select('revoked_at')
          .where('tenant', '=', tenant)
          .where('jti', '=', creator?.keyId ?? '')
        // The lock makes a revocation of the creator's key wait, which then finds the new key.
        const locked = database.isShared ? ofCreator.forShare() : ofCreator
        if (creator?.keyId !== undefined && (await query(connection, locked)).rows.some((key) => key.revoked_at !== null)) return false
        const { changes } = await query<unknown>(connection, insert)
        if (changes > 0) await ledger.record(connection, tenant, acting, toAct('key.created', { jti, sub, roles, expiresAt }))
        return true
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
  }
}

function keyLists(database: Database): Pick<AccessKeyStore, 'list' | 'page' | 'latestExpiry' | 'revokedSince'> {
  const { db, all } = database
  const newestFirst = () => db.selectFrom('access_keys').selectAll().orderBy('created_at', 'desc').orderBy('jti', 'desc')
  return {
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

/** Revokes keys, and the keys that were created with them. */
function keyEnds(database: Database): Pick<AccessKeyStore, 'revoke' | 'revokeCreatedBy'> {
  const { db, all, ledger } = database
  const scopeOf = (tenant: string | undefined) => (tenant === undefined ? all : database.forTenant(tenant))

  /** Finds keys, and locks them until the end of the unit. */
  async function findKeys(connection: Connection, tenant: string | undefined, where: (keys: KeyQuery) => KeyQuery) {
    const keys = where(db.selectFrom('access_keys').selectAll())
    const ofTenant = tenant === undefined ? keys : keys.where('tenant', '=', tenant)
    return (await query(connection, database.isShared ? ofTenant.forUpdate() : ofTenant)).rows.map(toRecord)
  }

  /** Marks keys as revoked, and removes their sessions and codes of the console. */
  async function endKeys(connection: Connection, keys: readonly AccessKeyRecord[], at: number, acting: Acting | undefined): Promise<void> {
    for (const { jti, tenant, revokedAt, ...key } of keys) {
      const revoked = db.updateTable('access_keys').set({ revoked_at: at }).where('tenant', '=', tenant).where('jti', '=', jti)
      if (revokedAt === undefined) {
        await query(connection, revoked)
        await ledger.record(connection, tenant, acting, toAct('key.revoked', { jti, ...key }))
      }
      for (const table of ['console_sessions', 'console_codes'] as const) {
        await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('issuer', '=', ownIssuer).where('key_id', '=', jti))
      }
    }
  }

  return {
    revoke: (jti, at, { tenant, check, acting } = {}) =>
      scopeOf(tenant).unit(async (connection) => {
        const [key] = await findKeys(connection, tenant, (keys) => keys.where('jti', '=', jti))
        if (!key) return undefined
        check?.([key])
        await endKeys(connection, [key], at, acting)
        return { jti, revokedAt: key.revokedAt ?? at, isNew: key.revokedAt === undefined }
      }),

    revokeCreatedBy: (owner, at, { tenant, check, acting } = {}) =>
      scopeOf(tenant).unit(async (connection) => {
        const created = new Map<string, AccessKeyRecord>()
        let generation = await findKeys(connection, tenant, (keys) => keys.where('created_by', '=', owner))
        while (generation.length > 0) {
          for (const key of generation) created.set(key.jti, key)
          const jtis = generation.map(({ jti }) => jti)
          const children = await inChunks(jtis, (chunk) =>
            findKeys(connection, tenant, (keys) => keys.where('created_by_key', 'in', chunk)),
          )
          generation = children.filter(({ jti }) => !created.has(jti))
        }
        const active = [...created.values()].filter(({ revokedAt }) => revokedAt === undefined)
        check?.(active)
        await endKeys(connection, active, at, acting)
        return active.map(({ jti }) => jti)
      }),
  }
}

type KeyQuery = SelectQueryBuilder<Tables, 'access_keys', AccessKeyRow>

/** Parameters of a statement, at most: far below the limits of both databases. */
const chunkSize = 500

async function inChunks<T>(jtis: readonly string[], find: (chunk: string[]) => Promise<T[]>): Promise<T[]> {
  const records: T[] = []
  for (let start = 0; start < jtis.length; start += chunkSize) records.push(...(await find(jtis.slice(start, start + chunkSize))))
  return records
}

type Granted = Pick<AccessKeyRecord, 'jti' | 'sub' | 'roles' | 'expiresAt'>

function toAct(action: 'key.created' | 'key.revoked', { jti, sub, roles, expiresAt }: Granted): Act {
  return { action, target: `key:${jti}`, data: { sub, roles: [...roles], expires_at: new Date(expiresAt).toISOString() } }
}

function toRecord(row: AccessKeyRow): AccessKeyRecord {
  const { jti, tenant, sub, roles, created_at, expires_at, revoked_at, last_used_at, created_by, created_by_key } = row
  const record = { jti, tenant, sub, roles: JSON.parse(roles) as string[], createdAt: created_at, expiresAt: expires_at }
  return {
    ...record,
    ...(revoked_at !== null && { revokedAt: revoked_at }),
    ...(last_used_at !== null && { lastUsedAt: last_used_at }),
    ...(created_by !== null && { creator: { owner: created_by, keyId: created_by_key ?? undefined } }),
  }
}
