import type { FeedbackStore } from '../../memory/memory.ts'
import { query, type Database } from '../database.ts'
import { toText } from '../rows.ts'
import { whereChat } from '../runs/statements.ts'

/** `FeedbackStore` on either database. */
export function createFeedbackStore(database: Database): FeedbackStore {
  const { db } = database
  return {
    save: ({ tenant, owner }, { requestId, score, comment, createdAt }, jobId) =>
      database.forTenant(tenant).unit(async (connection) => {
        const chat = db.selectFrom('runs').select(['status', 'ended_at']).where('tenant', '=', tenant).where('owner', '=', owner)
        const { rows } = await query(connection, chat.where('request_id', '=', requestId).where(whereChat))
        if (!rows[0]) return 'unknown'
        if (rows[0].status === 'gone') return 'gone'
        if (rows[0].ended_at === null) return 'running'
        const columns = { score, comment: comment === undefined ? null : toText(comment), created_at: createdAt }
        await query(
          connection,
          db
            .insertInto('feedback')
            .values({ tenant, owner, request_id: requestId, ...columns })
            .onConflict((conflict) => conflict.columns(['tenant', 'owner', 'request_id']).doUpdateSet(columns)),
        )
        await database.jobs.insert(connection, [{ id: jobId, kind: 'feedback', tenant, data: { owner, requestId }, dueAt: createdAt }])
        return 'saved'
      }),

    async find({ tenant, owner }, requestId) {
      const feedback = db.selectFrom('feedback').selectAll().where('tenant', '=', tenant).where('owner', '=', owner)
      const { rows } = await query(database.forTenant(tenant).read, feedback.where('request_id', '=', requestId))
      if (!rows[0]) return undefined
      const { score, comment, created_at: createdAt } = rows[0]
      return { requestId, score, comment: comment ?? undefined, createdAt }
    },
  }
}
