import { sql, type Kysely } from 'kysely'

/** The order of unclaimed async runs, which are claimed by jobs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('jobs')
    .addColumn('rank', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await schema.createIndex('jobs_ranked').on('jobs').columns(['kind', 'rank', 'due_at']).execute()
  await schema.alterTable('runs').addColumn('work_rank', 'integer').execute()
  // The indexes hold only unended async runs.
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
