import type { Kysely } from 'kysely'

/** The last use of keys, an index of the list of keys, and the one-time codes and sessions of the console. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('access_keys').addColumn('last_used_at', 'bigint').execute()
  await schema.createIndex('access_keys_listed').on('access_keys').columns(['tenant', 'created_at', 'jti']).execute()
  for (const table of ['console_codes', 'console_sessions']) {
    await schema
      .createTable(table)
      .addColumn('hash', 'text', (column) => column.primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('issuer', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('identity', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex(`${table}_key`).on(table).columns(['tenant', 'issuer', 'key_id', 'created_at']).execute()
    await schema.createIndex(`${table}_age`).on(table).column('expires_at').execute()
  }
  await schema.alterTable('console_codes').addColumn('used_at', 'bigint').execute()
}
