import { randomUUIDv7 } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import {
  knowledgePurpose,
  type Grant,
  type Reservation,
  type Upload,
  type UploadQuotas,
  type UploadScope,
  type UploadStore,
} from '../../uploads/upload-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import { addDocument, removeDocuments } from './knowledge.ts'
import { toText } from '../rows.ts'
import type { Tables, UploadRow } from '../tables.ts'

/** `UploadStore` on either database. */
export function createUploadStore(database: Database): UploadStore {
  const { db, all, forTenant } = database
  const stored = (scope: UploadScope, now: number) => storedIn(db, scope, now)

  return {
    reserve: (reservation, quotas) =>
      forTenant(reservation.tenant).unit(async (connection) => {
        const { tenant, owner, id, isKnowledge, now, until } = reservation
        // Serializes the reservations of a tenant; SQLite has one writer anyway.
        if (database.isShared) await connection.execute('select pg_advisory_xact_lock(hashtextextended($1, 23))', [tenant])
        const grant = toGrant(reservation, quotas, await usedBytes(connection, db, reservation))
        if (grant.bytes === 0 && grant.limitedBy) return grant
        const purpose = isKnowledge ? knowledgePurpose : ''
        const row = {
          tenant,
          owner,
          id,
          purpose,
          name: '',
          type: '',
          size: grant.bytes,
          sha256: '',
          is_stored: 0,
          created_at: now,
          expires_at: until,
        }
        await query(connection, db.insertInto('uploads').values(row))
        return grant
      }),

    complete: (upload, options) =>
      forTenant(upload.tenant).unit(async (connection) => {
        const { tenant, id, purpose, name, type, size, sha256, createdAt, expiresAt } = upload
        const columns = {
          purpose,
          name: toText(name),
          type,
          size,
          sha256,
          is_stored: 1,
          created_at: createdAt,
          expires_at: expiresAt ?? null,
        }
        const arriving = db.updateTable('uploads').set(columns).where('tenant', '=', tenant).where('id', '=', id).where('is_stored', '=', 0)
        const isCompleted = (await query(connection, arriving.returning('id'))).rows.length > 0
        if (isCompleted && purpose === knowledgePurpose) await addDocument(database, connection, upload, options)
        return isCompleted
      }),

    async find(scope, id, now) {
      const { rows } = await query(forTenant(scope.tenant).read, stored(scope, now).selectAll().where('id', '=', id))
      return rows[0] && toUpload(rows[0])
    },

    async list(scope, { limit, order, after, purpose }, now) {
      const direction = order === 'newest_first' ? 'desc' : 'asc'
      // Without an index by purpose: SQLite would read all uploads of the tenant with this purpose.
      const ofPurpose = sql<boolean>`purpose || '' = ${purpose}`
      const own = purpose === undefined ? stored(scope, now) : stored(scope, now).where(ofPurpose)
      const rest = after === undefined ? own : own.where('id', direction === 'desc' ? '<' : '>', after)
      const page = rest.selectAll().orderBy('id', direction).limit(limit)
      return (await query(forTenant(scope.tenant).read, page)).rows.map(toUpload)
    },

    remove: (scope, id, now, acting) =>
      forTenant(scope.tenant).unit(async (connection) => {
        const { rows } = await query(connection, stored(scope, now).select(['tenant', 'id']).where('id', '=', id))
        if ((await removeUploads(database, connection, rows, now)) === 0) return false
        const thing = scope.kind === 'knowledge' ? 'document' : 'upload'
        await database.ledger.record(connection, scope.tenant, acting, { action: `${thing}.deleted`, target: `${thing}:${id}` })
        return true
      }),

    cancel: ({ tenant, id }) =>
      forTenant(tenant).unit(async (connection) => {
        const reservation = db.deleteFrom('uploads').where('tenant', '=', tenant).where('id', '=', id).where('is_stored', '=', 0)
        await query(connection, reservation)
      }),

    removeExpired: (now, limit) =>
      all.unit(async (connection) => {
        const expired = db.selectFrom('uploads').select(['tenant', 'id']).where('expires_at', '<=', now).orderBy('expires_at').limit(limit)
        return removeUploads(database, connection, (await query(connection, expired)).rows, now)
      }),
  }
}

/** Stored uploads of a scope that have not expired. */
function storedIn(db: Kysely<Tables>, scope: UploadScope, now: number) {
  const present = db
    .selectFrom('uploads')
    .where('tenant', '=', scope.tenant)
    .where('is_stored', '=', 1)
    .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
  return scope.kind === 'knowledge'
    ? present.where('purpose', '=', knowledgePurpose)
    : present.where('owner', '=', scope.owner).where('purpose', '<>', knowledgePurpose)
}

/** Bytes of the uploads that exist or are arriving, without expired ones and broken reservations. */
async function usedBytes(connection: Connection, db: Kysely<Tables>, { tenant, owner, now }: Reservation): Promise<UploadQuotas> {
  const usage = db.selectFrom('upload_usage').select(['owner', 'bytes']).where('tenant', '=', tenant).where('owner', 'in', ['', owner])
  const isOwn = sql`owner = ${owner} and purpose <> ${knowledgePurpose}`
  // The sweep removes these within minutes, so there are few.
  const expired = db
    .selectFrom('uploads')
    .select([
      sql<number | string>`coalesce(sum(case when ${isOwn} then size else 0 end), 0)`.as('own'),
      sql<number | string>`coalesce(sum(size), 0)`.as('whole'),
    ])
    .where('tenant', '=', tenant)
    .where('expires_at', '<=', now)
  const [{ rows }, { rows: expiredRows }] = [await query(connection, usage), await query(connection, expired)]
  const bytesOf = (counted: string) => rows.find((row) => row.owner === counted)?.bytes ?? 0
  return {
    ownerBytes: bytesOf(owner) - Number(expiredRows[0]!.own),
    tenantBytes: bytesOf('') - Number(expiredRows[0]!.whole),
  }
}

function toGrant({ size, isKnowledge }: Reservation, quotas: UploadQuotas, used: UploadQuotas): Grant {
  const remaining = (quota: keyof UploadQuotas) => Math.max(0, quotas[quota] - used[quota])
  const ofOwner = isKnowledge ? Infinity : remaining('ownerBytes')
  const ofTenant = remaining('tenantBytes')
  const bytes = Math.min(size, ofOwner, ofTenant)
  return { bytes, limitedBy: bytes === size ? undefined : ofOwner <= ofTenant ? 'ownerBytes' : 'tenantBytes' }
}

/**
 * Removes uploads as a part of a unit of work, with their documents, and adds a job for the bytes of each. Resolves with the number of uploads
 * that this call has removed: another process may have been first.
 */
export async function removeUploads(
  { db, jobs }: Pick<Database, 'db' | 'jobs'>,
  connection: Connection,
  uploads: readonly Pick<UploadRow, 'tenant' | 'id'>[],
  now: number,
): Promise<number> {
  const removed: Pick<UploadRow, 'tenant' | 'id' | 'purpose'>[] = []
  for (const { tenant, id } of uploads) {
    const deletion = db.deleteFrom('uploads').where('tenant', '=', tenant).where('id', '=', id).returning(['tenant', 'id', 'purpose'])
    removed.push(...(await query(connection, deletion)).rows)
  }
  await removeDocuments(db, connection, removed)
  const bytes = removed.map(({ tenant, id }) => ({ id: randomUUIDv7(), kind: 'upload_deleted' as const, tenant, data: { id }, dueAt: now }))
  if (bytes.length > 0) await jobs.insert(connection, bytes)
  return removed.length
}

/** Returns those of the ids that have a row: stored, expired or arriving. */
export async function existingUploads({ db, all }: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await query(all.read, db.selectFrom('uploads').select('id').where('id', 'in', ids))
  return new Set(rows.map(({ id }) => id))
}

function toUpload(row: UploadRow): Upload {
  return {
    tenant: row.tenant,
    owner: row.owner,
    id: row.id,
    purpose: row.purpose,
    name: row.name,
    type: row.type,
    size: row.size,
    sha256: row.sha256,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
  }
}
