import type { Kysely } from 'kysely'

/** Metadata that a caller gives to a session, as JSON; null: none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('metadata', 'text').execute()
}
