import type { Kysely } from 'kysely'

/** Documents of tenants for `knowledge_search`, with the state of each, and a count of changes per tenant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('knowledge_documents')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('knowledge_documents_pk', ['tenant', 'id'])
    .execute()
  await schema.createIndex('knowledge_documents_state').on('knowledge_documents').columns(['tenant', 'state', 'revision']).execute()
  await schema
    .createTable('knowledge_revisions')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('removals', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('knowledge_revisions_pk', ['tenant'])
    .execute()
}
