import { PostgresAdapter, sql, type Kysely } from 'kysely'

/** The journal of an embedded database: begins and ends of chats that are not in the tables of chats yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) return
  await sql`create table journal (id integer primary key, entry text not null)`.execute(db)
}
