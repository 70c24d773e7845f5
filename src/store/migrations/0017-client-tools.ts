import { sql, type Kysely } from 'kysely'

/** Indexes of the calls of client tools: by call id, and of the open ones. Calls that wait for approval have no entries in them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createIndex('approvals_of_client')
    .on('approvals')
    .columns(['tenant', 'owner', 'call_id'])
    .where(sql<boolean>`by = 'client'`)
    .execute()
  await schema
    .createIndex('approvals_open_of_client')
    .on('approvals')
    .columns(['tenant', 'owner'])
    .where(sql<boolean>`by = 'client' and decision is null`)
    .execute()
}
