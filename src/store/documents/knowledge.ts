import { randomUUIDv7 } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { Metadata } from '../../files/document.ts'
import type { DocumentStatus, KnowledgeStore, ReadyDocument } from '../../knowledge/knowledge-store.ts'
import { knowledgePurpose, type Upload } from '../../uploads/upload-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import { toText } from '../rows.ts'
import type { KnowledgeDocumentRow, Tables, UploadRow } from '../tables.ts'

const unfinished = ['waiting', 'indexing'] as const

/** `KnowledgeStore` on either database. */
export function createKnowledgeStore({ db, all, forTenant }: Database): KnowledgeStore {
  const documents = (tenant: string) => db.selectFrom('knowledge_documents').where('tenant', '=', tenant)
  const change = (tenant: string, id: string) =>
    db.updateTable('knowledge_documents').where('tenant', '=', tenant).where('id', '=', id).where('state', 'in', unfinished).returning('id')

  return {
    async statesOf(tenant, ids) {
      if (ids.length === 0) return new Map()
      const { rows } = await query(forTenant(tenant).read, documents(tenant).selectAll().where('id', 'in', ids))
      return new Map(rows.map((row) => [row.id, toStatus(row)]))
    },

    begin: (tenant, id) =>
      forTenant(tenant).unit(async (connection) => {
        return (await query(connection, change(tenant, id).set({ state: 'indexing' }))).rows.length > 0
      }),

    complete: (tenant, id, { metadata, passages }) =>
      forTenant(tenant).unit(async (connection) => {
        const revision = await countChange(connection, db, tenant, 'revision')
        const ready = { state: 'ready', metadata: toText(JSON.stringify(metadata)), revision, passages } as const
        return (await query(connection, change(tenant, id).set(ready))).rows.length > 0
      }),

    fail: (tenant, id, error) =>
      forTenant(tenant).unit(async (connection) => {
        await query(connection, change(tenant, id).set({ state: 'failed', error: toText(error) }))
      }),

    async changes(tenant) {
      const waiting = documents(tenant)
        .where('state', 'in', unfinished)
        .select(sql<number | string>`count(*)`.as('count'))
      const counts = db.selectFrom('knowledge_revisions').select(['revision', 'removals']).where('tenant', '=', tenant)
      const { read } = forTenant(tenant)
      const [{ rows }, { rows: waitingRows }] = [await query(read, counts), await query(read, waiting)]
      return {
        revision: rows[0]?.revision ?? 0,
        removals: rows[0]?.removals ?? 0,
        unfinished: Number(waitingRows[0]?.count ?? 0),
      }
    },

    async readyAfter(tenant, after, limit) {
      const ready = documents(tenant).where('state', '=', 'ready').where('revision', '>', after).orderBy('revision').limit(limit)
      return (await query(forTenant(tenant).read, ready.selectAll())).rows.map(toReady)
    },

    async countAfter(tenant, after) {
      const ready = documents(tenant).where('state', '=', 'ready').where('revision', '>', after)
      const { rows } = await query(forTenant(tenant).read, ready.select(sql<number | string>`count(*)`.as('count')))
      return Number(rows[0]?.count ?? 0)
    },

    async replacedBy(tenant, id) {
      const replacing = documents(tenant).select('name').where('id', '=', id).where('state', '=', 'ready').where('replaces', '=', 1)
      const replaced = documents(tenant).select('id').where('name', '=', replacing).where('id', '<', id)
      return (await query(forTenant(tenant).read, replaced)).rows.map((row) => row.id)
    },

    async ids(tenant) {
      return new Set((await query(forTenant(tenant).read, documents(tenant).select('id'))).rows.map(({ id }) => id))
    },

    async counts() {
      const states = db
        .selectFrom('knowledge_documents')
        .select(['state', sql<number | string>`count(*)`.as('count')])
        .groupBy('state')
      return new Map((await query(all.read, states)).rows.map(({ state, count }) => [state, Number(count)]))
    },
  } satisfies KnowledgeStore
}

/** Adds a document as a part of the unit of work that completes its upload, with the job that indexes the document. */
export async function addDocument(
  { db, jobs }: Pick<Database, 'db' | 'jobs'>,
  connection: Connection,
  upload: Upload,
  { replaces = false }: { replaces?: boolean | undefined } = {},
): Promise<void> {
  const { tenant, id, name, sha256, createdAt } = upload
  const content = { tenant, id, name: toText(name), version: sha256, replaces: replaces ? 1 : null }
  const row = { ...content, state: 'waiting', error: null, metadata: '{}', revision: 0 } as const
  await query(connection, db.insertInto('knowledge_documents').values(row))
  await jobs.insert(connection, [{ id: randomUUIDv7(), kind: 'knowledge_document', tenant, data: { id }, dueAt: createdAt }])
}

/** Removes the documents of removed uploads as a part of the same unit of work. */
export async function removeDocuments(
  db: Kysely<Tables>,
  connection: Connection,
  uploads: readonly Pick<UploadRow, 'tenant' | 'id' | 'purpose'>[],
): Promise<void> {
  for (const { tenant, id, purpose } of uploads) {
    if (purpose !== knowledgePurpose) continue
    await query(connection, db.deleteFrom('knowledge_documents').where('tenant', '=', tenant).where('id', '=', id))
    await countChange(connection, db, tenant, 'removals')
  }
}

/** Counts a change of a tenant, and returns the count. Concurrent changes of a tenant wait for each other, so that a later count commits later. */
async function countChange(connection: Connection, db: Kysely<Tables>, tenant: string, counter: 'revision' | 'removals'): Promise<number> {
  const first = { tenant, revision: 0, removals: 0, [counter]: 1 }
  const counted = db
    .insertInto('knowledge_revisions')
    .values(first)
    .onConflict((conflict) =>
      conflict.column('tenant').doUpdateSet(({ eb, ref }) => ({ [counter]: eb(ref(`knowledge_revisions.${counter}`), '+', 1) })),
    )
    .returning(counter)
  const { rows } = await query(connection, counted)
  return rows[0]![counter]
}

function toStatus({ state, error, passages }: KnowledgeDocumentRow): DocumentStatus {
  return { state, ...(error !== null && { error }), ...(typeof passages === 'number' && { passages }) }
}

function toReady({ id, name, version, metadata, revision }: KnowledgeDocumentRow): ReadyDocument {
  return { id, name, version, metadata: JSON.parse(metadata) as Metadata, revision }
}
