import { sql, type Kysely } from 'kysely'

/** Files that callers send: their own, and the documents of a tenant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('uploads')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('is_stored', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addPrimaryKeyConstraint('uploads_pk', ['id'])
    .execute()
  await schema.createIndex('uploads_owner').on('uploads').columns(['tenant', 'owner', 'id']).execute()
  await schema.createIndex('uploads_purpose').on('uploads').columns(['tenant', 'purpose', 'id']).execute()
  await schema
    .createIndex('uploads_age')
    .on('uploads')
    .columns(['tenant', 'created_at'])
    .where(sql<boolean>`purpose <> 'knowledge'`)
    .execute()
  await schema.createIndex('uploads_expiry').on('uploads').column('expires_at').execute()
}
