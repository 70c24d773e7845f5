import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** Sums of the bytes of uploads, and documents that replace others of their name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('knowledge_documents').addColumn('replaces', 'integer').execute()
  await db.schema.createIndex('knowledge_documents_name').on('knowledge_documents').columns(['tenant', 'name']).execute()
  await sumBytes(db)
}

/**
 * The bytes of uploads, summed for each owner and, with an empty owner, for each tenant: quotas are read in constant time. Triggers keep the sums,
 * so that processes of the version before, which run for a while after the migration, are counted too.
 */
async function sumBytes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('upload_usage')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('upload_usage_pk', ['tenant', 'owner'])
    .execute()
  await db.schema
    .createIndex('uploads_expired')
    .on('uploads')
    .columns(['tenant', 'expires_at'])
    .where(sql<boolean>`expires_at is not null`)
    .execute()
  await sql`insert into upload_usage select tenant, '', sum(size) from uploads group by tenant`.execute(db)
  await sql`insert into upload_usage select tenant, owner, sum(size) from uploads where purpose <> 'knowledge' group by tenant, owner`.execute(
    db,
  )
  if (db.getExecutor().adapter instanceof PostgresAdapter) await createPostgresTrigger(db)
  else await createSqliteTriggers(db)
}

/** `new` is null after a deletion, `old` after an insertion. */
async function createPostgresTrigger(db: Kysely<unknown>): Promise<void> {
  await sql`create function count_upload_bytes() returns trigger language plpgsql as $$
    declare
      upload uploads := coalesce(new, old);
      added bigint := coalesce(new.size, 0) - coalesce(old.size, 0);
    begin
      insert into upload_usage (tenant, owner, bytes)
      select upload.tenant, counted.owner, added
      from (values (''), (case when upload.purpose = 'knowledge' then null else upload.owner end)) as counted (owner)
      where counted.owner is not null
      on conflict (tenant, owner) do update set bytes = upload_usage.bytes + excluded.bytes;
      return null;
    end $$`.execute(db)
  await sql`create trigger uploads_counted after insert or delete or update of size on uploads
    for each row execute function count_upload_bytes()`.execute(db)
}

async function createSqliteTriggers(db: Kysely<unknown>): Promise<void> {
  const changes = [
    { event: 'insert', row: 'new', added: 'new.size' },
    { event: 'delete', row: 'old', added: '-old.size' },
    { event: 'update of size', row: 'new', added: 'new.size - old.size' },
  ]
  for (const [index, { event, row, added }] of changes.entries()) {
    const count = (owner: string) => `insert into upload_usage (tenant, owner, bytes) select ${row}.tenant, ${owner}, ${added}`
    const add = 'on conflict (tenant, owner) do update set bytes = bytes + excluded.bytes'
    const body = `${count("''")} where true ${add}; ${count(`${row}.owner`)} where ${row}.purpose <> 'knowledge' ${add};`
    await sql.raw(`create trigger uploads_counted_${index} after ${event} on uploads begin ${body} end`).execute(db)
  }
}
