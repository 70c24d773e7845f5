import type { Kysely } from 'kysely'

/** Vectors of texts for search by meaning, and the leases of the processes that compute them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('search_vectors')
    .addColumn('encoder', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .addColumn('vector', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('search_vectors_pk', ['hash', 'encoder'])
    .execute()
  await schema
    .createTable('search_leases')
    .addColumn('encoder', 'text', (column) => column.primaryKey())
    .addColumn('holder', 'text', (column) => column.notNull())
    .addColumn('until', 'bigint', (column) => column.notNull())
    .execute()
}
