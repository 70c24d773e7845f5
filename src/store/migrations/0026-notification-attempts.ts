import { sql, type Kysely } from 'kysely'

/** The attempts of push notifications, which are listed with those of callbacks. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('task_notifications')
    .addColumn('attempts', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute()
  await schema.alterTable('task_notifications').addColumn('next_attempt_at', 'bigint').execute()
  const position = ['created_at', 'request_id', 'owner', 'id']
  await schema
    .createIndex('task_notifications_listed')
    .on('task_notifications')
    .columns(['tenant', ...position])
    .execute()
  await schema
    .createIndex('task_notifications_of_owner')
    .on('task_notifications')
    .columns(['tenant', 'owner', 'created_at', 'request_id', 'id', 'status'])
    .execute()
  await schema
    .createIndex('task_notifications_undelivered')
    .on('task_notifications')
    .columns(['tenant', 'status', ...position])
    .where(sql<boolean>`status <> 'delivered'`)
    .execute()
}
