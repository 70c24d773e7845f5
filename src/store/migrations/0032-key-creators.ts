import { sql, type Kysely } from 'kysely'

/** The creator of an access key. The indexes find the keys of a creator, and the keys that were created with a key. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['created_by', 'created_by_key'] as const) {
    await schema.alterTable('access_keys').addColumn(column, 'text').execute()
    await schema
      .createIndex(`access_keys_${column}`)
      .on('access_keys')
      .columns(['tenant', column])
      .where(sql<boolean>`${sql.ref(column)} is not null`)
      .execute()
  }
}
