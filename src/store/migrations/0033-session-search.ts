import type { Kysely } from 'kysely'

/** The index of the session search. The search fills it, so a migration moves no data. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const text = (table: string) =>
    schema
      .createTable(table)
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('owner', 'text', (column) => column.notNull())
  await text('search_segments')
    .addColumn('segment', 'integer', (column) => column.notNull())
    .addColumn('last_updated_at', 'bigint', (column) => column.notNull())
    .addColumn('last_session_id', 'text', (column) => column.notNull())
    .addColumn('last_owner', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('search_segments_pk', ['tenant', 'owner', 'segment'])
    .execute()
  await text('search_slices')
    .addColumn('segment', 'integer', (column) => column.notNull())
    .addColumn('slice', 'integer', (column) => column.notNull())
    .addColumn('bits', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('search_slices_pk', ['tenant', 'owner', 'segment', 'slice'])
    .execute()
  await text('search_documents')
    .addColumn('document', 'integer', (column) => column.notNull())
    .addColumn('session', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('search_documents_pk', ['tenant', 'owner', 'document'])
    .execute()
  await schema.createIndex('search_documents_session').on('search_documents').columns(['session', 'tenant']).execute()
}
