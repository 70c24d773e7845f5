import type { Kysely } from 'kysely'

/**
 * State shared by all replicas: secrets, and the configurations that were in use. Columns with secrets are encrypted with SECRET_KEY.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('secrets')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .execute()
  await schema
    .createTable('configurations')
    // A new configuration takes the number after the one that its author has seen, and a number can be taken once.
    .addColumn('n', 'integer', (column) => column.primaryKey())
    .addColumn('version', 'text', (column) => column.notNull().unique())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('diff', 'text', (column) => column.notNull())
    .addColumn('made_by', 'text')
    .addColumn('made_at', 'bigint', (column) => column.notNull())
    .execute()
  await schema
    .createTable('configuration_texts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('n', 'integer', (column) => column.notNull())
    .execute()
}
