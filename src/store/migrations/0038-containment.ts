import { sql, type Kysely } from 'kysely'

/** Memories know whether strangers may have written them; calls that wait know which text of strangers holds them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table memories add column trust text not null default 'trusted'`,
  // What was learned from tools so far may come from anywhere.
  `update memories set trust = 'untrusted' where origin = 'tool'`,
  'alter table approvals add column sources text',
]
