import type { Kysely } from 'kysely'

/** Accepted definitions of the tools of MCP servers, shared by all replicas; and the start, host and version of each process. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('tool_pins')
    .addColumn('entry', 'text', (column) => column.notNull())
    .addColumn('server', 'text', (column) => column.notNull())
    .addColumn('tools', 'text', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('tool_pins_pk', ['entry', 'server'])
    .execute()
  // Null for processes of former versions.
  await schema.alterTable('processes').addColumn('started_at', 'bigint').execute()
  await schema.alterTable('processes').addColumn('host', 'text').execute()
  await schema.alterTable('processes').addColumn('version', 'text').execute()
}
