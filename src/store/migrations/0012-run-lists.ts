import { sql, SqliteAdapter, type Kysely } from 'kysely'

/** Columns, tables and indexes for the lists of runs and of callbacks. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await listRuns(db)
  await createRunTools(db)
  await listCallbacks(db)
}

const position = ['created_at', 'request_id', 'owner']

/** Runs of earlier versions get their `sub` only. */
async function listRuns(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  for (const column of ['sub', 'input', 'config_version']) await schema.alterTable('runs').addColumn(column, 'text').execute()
  await schema.alterTable('runs').addColumn('cost', 'double precision').execute()
  const space = db.getExecutor().adapter instanceof SqliteAdapter ? sql`instr(owner, ' ')` : sql`strpos(owner, ' ')`
  await sql`update runs set sub = substr(owner, ${space} + 1) where operation <> 'tool_execute' and status <> 'gone'`.execute(db)

  // Every index has the order of the list, then columns that other filters of a page compare without reading the run. Direct tool
  // executions and tombstones are in none of them.
  const isListed = sql<boolean>`operation <> 'tool_execute' and status <> 'gone'`
  await schema
    .createIndex('runs_listed')
    .on('runs')
    .columns(['tenant', ...position, 'operation'])
    .where(isListed)
    .execute()
  await schema
    .createIndex('runs_listed_by_sub')
    .on('runs')
    .columns(['tenant', 'sub', ...position, 'operation'])
    .where(isListed)
    .execute()
  await schema
    .createIndex('runs_listed_by_version')
    .on('runs')
    .columns(['tenant', 'config_version', ...position])
    .where(isListed)
    .execute()
  // Successful runs are the most: a list of them is found in the indexes above, and their end need not touch this one.
  await schema
    .createIndex('runs_listed_by_status')
    .on('runs')
    .columns(['tenant', 'status', ...position, 'operation', 'sub', 'config_version'])
    .where(sql<boolean>`operation <> 'tool_execute' and status not in ('success', 'gone')`)
    .execute()
}

/** The tools of each ended run. */
async function createRunTools({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('run_tools')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('sub', 'text', (column) => column.notNull())
    .addColumn('config_version', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_tools_pk', ['tenant', 'owner', 'request_id', 'tool'])
    .execute()
  await schema
    .createIndex('run_tools_listed')
    .on('run_tools')
    .columns(['tenant', 'tool', ...position, 'sub', 'config_version'])
    .execute()
}

async function listCallbacks({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('callbacks').addColumn('next_attempt_at', 'bigint').execute()
  await schema
    .createIndex('callbacks_listed')
    .on('callbacks')
    .columns(['tenant', ...position])
    .execute()
  await schema
    .createIndex('callbacks_of_owner')
    .on('callbacks')
    .columns(['tenant', 'owner', 'created_at', 'request_id', 'status'])
    .execute()
  await schema
    .createIndex('callbacks_undelivered')
    .on('callbacks')
    .columns(['tenant', 'status', ...position])
    .where(sql<boolean>`status <> 'delivered'`)
    .execute()
}
