import type { Kysely } from 'kysely'

/** How often a run has lost its process in a row; null where it never has. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runs').addColumn('losses', 'text').execute()
}
