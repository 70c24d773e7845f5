import type { Kysely } from 'kysely'

/** How many passages a document has. Null for documents that became ready before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('knowledge_documents').addColumn('passages', 'integer').execute()
}
