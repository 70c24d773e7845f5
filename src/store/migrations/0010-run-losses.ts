import type { Kysely } from 'kysely'

/** How often in a row a run has lost its process; null: never. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runs').addColumn('losses', 'text').execute()
}
