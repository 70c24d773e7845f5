import { sql, type Kysely } from 'kysely'

/** Marks of runs, and of their sessions, that are not kept after the end. The index finds the few runs that are to be removed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('sessions').addColumn('unstored', 'integer').execute()
  await schema.alterTable('runs').addColumn('unstored', 'integer').execute()
  await schema
    .createIndex('runs_unstored')
    .on('runs')
    .column('ended_at')
    .where(sql<boolean>`unstored = 1`)
    .execute()
}
