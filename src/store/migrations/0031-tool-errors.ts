import { sql, type Kysely } from 'kysely'

/**
 * The failed tool calls of a run, for the list of runs and the series. The new index has an entry for runs with a failed call alone, and the
 * index of ended runs still covers a series.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('runs').addColumn('tool_errors', 'integer').execute()
  await sql`
    update runs set tool_errors = failed.errors
    from (select tenant, owner, request_id, sum(errors) as errors from run_tools where errors > 0 group by tenant, owner, request_id) as failed
    where runs.tenant = failed.tenant and runs.owner = failed.owner and runs.request_id = failed.request_id and runs.ended_at is not null
  `.execute(db)
  await schema
    .createIndex('runs_with_tool_errors')
    .on('runs')
    .columns(['tenant', 'created_at', 'request_id', 'owner'])
    .where(sql<boolean>`sub is not null and tool_errors is not null`)
    .execute()
  const position = ['ended_at', 'request_id', 'owner']
  await schema.dropIndex('runs_ended').execute()
  await schema
    .createIndex('runs_ended')
    .on('runs')
    .columns(['tenant', ...position, 'operation', 'status', 'latency_ms', 'total_tokens', 'cost', 'config_version', 'tool_errors'])
    .where(sql<boolean>`ended_at is not null`)
    .execute()
}
