import { sql, type Kysely } from 'kysely'

/** Async runs that nobody has, until a job takes them up: in which order. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('jobs')
    .addColumn('rank', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await schema.createIndex('jobs_ranked').on('jobs').columns(['kind', 'rank', 'due_at']).execute()
  await schema.alterTable('runs').addColumn('work_rank', 'integer').execute()
  // Both hold async runs alone, as long as they have not ended.
  await schema
    .createIndex('runs_to_work')
    .on('runs')
    .column('work_rank')
    .where(sql<boolean>`status = 'pending' and work_rank is not null`)
    .execute()
  await schema
    .createIndex('runs_at_work')
    .on('runs')
    .columns(['tenant', 'owner', 'work_rank'])
    .where(sql<boolean>`status in ('pending', 'running') and work_rank is not null`)
    .execute()
}
