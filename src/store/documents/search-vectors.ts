import { sql } from 'kysely'
import type { VectorStore } from '../../search/vectors.ts'
import { query, type Database } from '../database.ts'
import { clockOf } from '../leases/processes.ts'

/** Rows of a statement, so that its text has few lengths and its parameters stay within limits. */
const maxRows = 100
const dayMs = 86_400_000
const unusedMs = 90 * dayMs

/**
 * `VectorStore` in the table `search_vectors`. A vector is a function of its text alone, so the tenants share the rows: the hash of a text is known
 * only to callers who have the text. `holder` identifies this process.
 */
export function createVectorStore(database: Database, holder: string): VectorStore {
  const { db, all } = database
  const clock = clockOf(database)

  /** Marks vectors as used, at most once a day. */
  async function touch(encoder: string, hashes: readonly string[]): Promise<void> {
    if (hashes.length === 0) return
    const update = db.updateTable('search_vectors').set({ used_at: clock }).where('encoder', '=', encoder).where('hash', 'in', hashes)
    await query(all.write, update)
  }

  return {
    async find(encoder, hashes) {
      const found = new Map<string, Int8Array>()
      for (const part of partsOf(hashes)) {
        const isStale = sql<number>`case when used_at < ${clock} - ${sql.lit(dayMs)} then 1 else 0 end`
        const rows = db.selectFrom('search_vectors').select(['hash', 'vector', isStale.as('is_stale')])
        const { rows: stored } = await query(all.read, rows.where('encoder', '=', encoder).where('hash', 'in', part))
        for (const { hash, vector } of stored) found.set(hash, toBytes(vector))
        await touch(
          encoder,
          stored.filter(({ is_stale }) => is_stale === 1).map(({ hash }) => hash),
        )
      }
      return found
    },

    async add(encoder, vectors) {
      for (const part of partsOf([...vectors])) {
        const values = part.map(([hash, vector]) => ({ encoder, hash, used_at: clock, vector: toText(vector) }))
        const insertion = db.insertInto('search_vectors').values(values)
        await query(
          all.write,
          insertion.onConflict((conflict) => conflict.doNothing()),
        )
      }
    },

    async remove(hashes) {
      for (const part of partsOf(hashes)) await query(all.write, db.deleteFrom('search_vectors').where('hash', 'in', part))
    },

    async removeUnused() {
      await query(all.write, db.deleteFrom('search_vectors').where('used_at', '<', sql<number>`${clock} - ${sql.lit(unusedMs)}`))
    },

    async claim(encoder, forMs) {
      if (!database.isShared) return true
      const until = sql<number>`${clock} + ${sql.lit(forMs)}`
      const claimed = db
        .insertInto('search_leases')
        .values({ encoder, holder, until })
        .onConflict((conflict) =>
          conflict
            .column('encoder')
            .doUpdateSet({ holder, until })
            .where((where) => where.or([where('search_leases.holder', '=', holder), where('search_leases.until', '<', clock)])),
        )
      return (await query(all.write, claimed)).changes > 0
    },

    async release(encoder) {
      if (!database.isShared) return
      await query(all.write, db.deleteFrom('search_leases').where('encoder', '=', encoder).where('holder', '=', holder))
    },
  }
}

function partsOf<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / maxRows) }, (_, index) => list.slice(index * maxRows, (index + 1) * maxRows))
}

function toText(vector: Int8Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}

function toBytes(text: string): Int8Array {
  return new Int8Array(Buffer.from(text, 'base64'))
}
