import { sql, type Kysely } from 'kysely'

interface Before {
  sessions: { tenant: string; owner: string; session_id: string; key: string }
  messages: { tenant: string; session: string; idx: number; data: string | null }
  artifacts: Record<string, string | number>
}

/**
 * Files of messages as rows of their own, so that a caller's files are listed without reading the messages. Calls of each tool, and an index
 * that covers the columns of metric series.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createArtifacts(db)
  await copyFromMessages(db)
  await extendTools(db)
  await coverSeries(db)
}

async function createArtifacts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('artifacts')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    // Ids grow with time, so the key is also the order of the list. A fork has the files of its source under the same ids.
    .addPrimaryKeyConstraint('artifacts_pk', ['tenant', 'owner', 'id', 'session_id'])
    .execute()
  await schema.createIndex('artifacts_id').on('artifacts').columns(['tenant', 'id']).execute()
  await schema.createIndex('artifacts_session').on('artifacts').column('session').execute()
}

async function extendTools({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('run_tools').addColumn('ended_at', 'bigint').execute()
  for (const column of ['calls', 'errors']) {
    await schema
      .alterTable('run_tools')
      .addColumn(column, 'integer', (definition) => definition.notNull().defaultTo(0))
      .execute()
  }
  await schema.alterTable('run_tools').addColumn('durations', 'text').execute()
  const position = ['ended_at', 'request_id', 'owner', 'tool']
  await schema
    .createIndex('run_tools_ended')
    .on('run_tools')
    .columns(['tenant', ...position])
    .execute()
}

/** Replaces the index of ended runs, so that the end of a run writes as many index entries as before. */
async function coverSeries({ schema }: Kysely<unknown>): Promise<void> {
  await schema.dropIndex('runs_ended').execute()
  const position = ['ended_at', 'request_id', 'owner']
  await schema
    .createIndex('runs_ended')
    .on('runs')
    .columns(['tenant', ...position, 'operation', 'status', 'latency_ms', 'total_tokens', 'cost', 'config_version'])
    .where(sql<boolean>`ended_at is not null`)
    .execute()
}

/** Messages whose data are parsed at the same time; the data of one message may have megabytes. */
const messagesPerRead = 50

interface StoredArtifact {
  id: string
  name: string
  type: string
  size: number
  sha256: string
  tool: string
  createdAt: number
}

async function copyFromMessages(db: Kysely<Before>): Promise<void> {
  let after = { session: '', idx: -1 }
  for (;;) {
    const { session, idx } = after
    const rows = await db
      .selectFrom('messages')
      .innerJoin('sessions', 'sessions.key', 'messages.session')
      .select(['messages.session', 'messages.idx', 'messages.data', 'sessions.tenant', 'sessions.owner', 'sessions.session_id'])
      .where('messages.data', 'like', '%"artifacts":[{%')
      .where(({ eb, or, and }) =>
        or([eb('messages.session', '>', session), and([eb('messages.session', '=', session), eb('messages.idx', '>', idx)])]),
      )
      .orderBy('messages.session')
      .orderBy('messages.idx')
      .limit(messagesPerRead)
      .execute()
    for (const { data, idx: _, ...place } of rows) {
      const { artifacts = [], requestId = '' } = JSON.parse(data ?? '{}') as { artifacts?: StoredArtifact[]; requestId?: string }
      for (const { createdAt, ...artifact } of artifacts) {
        const row = { ...place, ...artifact, request_id: requestId, created_at: createdAt }
        await db
          .insertInto('artifacts')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      }
    }
    const last = rows.at(-1)
    if (!last) return
    after = last
  }
}
