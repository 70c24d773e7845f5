import { PostgresAdapter, sql, type Kysely } from 'kysely'
import { chatTables } from './schema-of-chats.ts'
import { tenantTables } from './schema-of-tenants.ts'

/** The tables of the first version, equal on SQLite and Postgres. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const statement of [...statementsOf(chatTables), ...statementsOf(tenantTables)]) {
    await sql.raw(isPostgres ? toPostgres(statement) : statement).execute(db)
  }
  if (isPostgres) await createPostgresTrigger(db)
  else await createSqliteTriggers(db)
}

function statementsOf(text: string): string[] {
  return text
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** Tails of runs are unlogged: after a crash has emptied the table, the holder of a run writes its tail again. */
function toPostgres(statement: string): string {
  return statement.replace('create table run_tails', 'create unlogged table run_tails')
}

/** Sums the bytes of uploads in `upload_usage`: quotas are read in constant time. `new` is null after a deletion, `old` after an insertion. */
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
