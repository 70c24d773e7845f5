import { sql, type Kysely } from 'kysely'

/** Trust of memories, and sources of held calls. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table memories add column trust text not null default 'trusted'`,
  // Earlier lessons from tools may come from anywhere.
  `update memories set trust = 'untrusted' where origin = 'tool'`,
  'alter table approvals add column sources text',
]
