import { sql, type Kysely } from 'kysely'
import type { Artifact } from '../../agent/messages.ts'
import type { ArtifactStore, StoredArtifact } from '../../artifacts/artifact-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import type { ArtifactRow, Tables } from '../tables.ts'

/** `ArtifactStore` on either database. */
export function createArtifactStore({ db, forTenant }: Database): ArtifactStore {
  return {
    async list({ tenant, owner }, { limit, before }) {
      const own = db.selectFrom('artifacts').selectAll().where('tenant', '=', tenant).where('owner', '=', owner)
      const older = before ? own.where(sql<boolean>`(id, session_id) < (${before.id}, ${before.sessionId})`) : own
      const page = older.orderBy('id', 'desc').orderBy('session_id', 'desc').limit(limit)
      return (await query(forTenant(tenant).read, page)).rows.map(toStoredArtifact)
    },

    async find({ tenant, owner }, id, { anyOwner }) {
      const withId = db.selectFrom('artifacts').selectAll().where('tenant', '=', tenant).where('id', '=', id)
      const ownFirst = sql`case when owner = ${owner} then 0 else 1 end`
      const visible = anyOwner ? withId.orderBy(ownFirst) : withId.where('owner', '=', owner)
      const { rows } = await query(forTenant(tenant).read, visible.orderBy('session_id').limit(1))
      return rows[0] && toStoredArtifact(rows[0])
    },
  }
}

/** The session and the run of new files. */
export type ArtifactOrigin = Pick<ArtifactRow, 'tenant' | 'owner' | 'session' | 'session_id' | 'request_id'>

/** Stores the files of a message, as a part of the unit of work that stores the message. A file of a resumed run may be stored already. */
export async function insertArtifacts(
  db: Kysely<Tables>,
  connection: Connection,
  origin: ArtifactOrigin,
  artifacts: readonly Artifact[],
): Promise<void> {
  for (const { id, name, type, size, sha256, tool, createdAt } of artifacts) {
    const row = { ...origin, id, name, type, size, sha256, tool, created_at: createdAt }
    const insert = db.insertInto('artifacts').values(row)
    await query(
      connection,
      insert.onConflict((conflict) => conflict.columns(['tenant', 'owner', 'id', 'session_id']).doNothing()),
    )
  }
}

function toStoredArtifact(row: ArtifactRow): StoredArtifact {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    size: row.size,
    sha256: row.sha256,
    tool: row.tool,
    createdAt: row.created_at,
    session: row.session,
    sessionId: row.session_id,
    requestId: row.request_id,
  }
}
