import { sql, type ColumnDataType, type Kysely } from 'kysely'

type Columns = Record<string, ColumnDataType | [ColumnDataType, 'null']>

/** Jobs, async events with their callbacks, images, sub-agents, memories, feedback; a session's running summary. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('sessions').addColumn('summary', 'text').execute()
  // Finds the runs of a deleted session. Indexed by the session's key, which grows: an index by a caller's ids would touch another page with
  // every chat. Executions of tools have a session id and no session key.
  await schema
    .createIndex('runs_of_session')
    .on('runs')
    .column('session')
    .where(sql<boolean>`session is not null`)
    .execute()
  await schema
    .createIndex('executions_of_session')
    .on('runs')
    .columns(['tenant', 'session_id', 'owner'])
    .where(sql<boolean>`operation = 'tool_execute'`)
    .execute()

  // Includes the operation, so that entries of the run log are counted with the index only.
  await schema.dropIndex('runs_ended').execute()
  await schema
    .createIndex('runs_ended')
    .on('runs')
    .columns(['tenant', 'ended_at', 'request_id', 'operation'])
    .where(sql<boolean>`ended_at is not null`)
    .execute()

  const owned = { tenant: 'text', owner: 'text' } as const
  await table(
    db,
    'jobs',
    { id: 'text', kind: 'text', tenant: 'text', data: 'text', due_at: 'bigint', attempts: 'integer', wanted_at: 'bigint' },
    ['id'],
  )
  await schema.createIndex('jobs_due').on('jobs').columns(['kind', 'due_at']).execute()
  await table(db, 'async_events', { ...owned, event: 'text', request_id: 'text', session_id: 'text', created_at: 'bigint' }, [
    'tenant',
    'owner',
    'event',
  ])
  await table(
    db,
    'callbacks',
    {
      ...owned,
      request_id: 'text',
      event_id: 'text',
      url: 'text',
      status: 'text',
      attempts: 'text',
      round: 'integer',
      tries: 'integer',
      created_at: 'bigint',
    },
    ['tenant', 'owner', 'request_id'],
  )
  await table(db, 'media', { tenant: 'text', session: 'text', request_id: 'text', n: 'integer', media_type: 'text', data: 'text' }, [
    'session',
    'request_id',
    'n',
  ])
  await table(
    db,
    'sub_agents',
    {
      ...owned,
      id: 'text',
      name: 'text',
      description: 'text',
      objective: 'text',
      tools: 'text',
      workflow_type: 'text',
      made_by: 'text',
      has_failed: 'integer',
      busy_by: 'text',
      busy_until: 'bigint',
      created_at: 'bigint',
      last_active: 'bigint',
    },
    ['tenant', 'owner', 'id'],
  )
  await schema.createIndex('sub_agents_name').unique().on('sub_agents').columns(['tenant', 'owner', 'name']).execute()
  await createMemories(db)
}

async function createMemories(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const owned = { tenant: 'text', owner: 'text' } as const
  // The vector is the last column, so that reads of other columns do not pass over the vector.
  await table(
    db,
    'memories',
    {
      ...owned,
      id: 'text',
      kind: 'text',
      origin: 'text',
      content: 'text',
      created_at: 'bigint',
      updated_at: 'bigint',
      embedding_model: ['text', 'null'],
      embedding: ['text', 'null'],
    },
    ['tenant', 'owner', 'id'],
  )
  await table(
    db,
    'memory_sources',
    {
      tenant: 'text',
      memory: 'text',
      session: 'text',
      session_id: 'text',
      message_index: 'integer',
      made_by: 'text',
      created_at: 'bigint',
    },
    ['memory', 'session', 'message_index'],
  )
  await table(db, 'memory_owners', { ...owned, version: 'bigint' }, ['tenant', 'owner'])
  await schema.createIndex('memory_sources_session').on('memory_sources').column('session').execute()
  await table(
    db,
    'feedback',
    { ...owned, request_id: 'text', score: 'double precision', comment: ['text', 'null'], created_at: 'bigint' },
    ['tenant', 'owner', 'request_id'],
  )
}

async function table(db: Kysely<unknown>, name: string, columns: Columns, key: string[]): Promise<void> {
  let builder = db.schema.createTable(name)
  for (const [column, type] of Object.entries(columns)) {
    builder =
      typeof type === 'string' ? builder.addColumn(column, type, (definition) => definition.notNull()) : builder.addColumn(column, type[0])
  }
  await builder.addPrimaryKeyConstraint(`${name}_pk`, key as never).execute()
}
