import { sql } from 'kysely'
import type { Excerpt, ExcerptLimits } from '../../runs/approvals/approval-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { isInPairs } from './remove-session.ts'
import { unindexedTenant } from '../runs/statements.ts'

/** The last messages of the sessions of some runs. The database truncates long messages. */
export async function excerptsOf(database: Database, tenant: string, runs: readonly RunKey[], limits: ExcerptLimits): Promise<Excerpt[]> {
  const names = runs.map(({ owner, requestId }) => ({ 'runs.request_id': requestId, 'runs.owner': owner }))
  const selection = database.db
    .selectFrom('runs')
    .innerJoin('sessions', 'sessions.key', 'runs.session')
    .innerJoin('messages', 'messages.session', 'sessions.key')
    .select(['runs.owner', 'runs.request_id', 'runs.message_index', 'messages.idx', 'messages.role'])
    // Reads a character more than the limit, as a sign of truncated text.
    .select(sql<string>`substr(messages.content, 1, ${limits.characters + 1})`.as('content'))
    .where('runs.tenant', '=', tenant)
    .where(isInPairs(['runs.request_id', 'runs.owner'], names))
    .where(sql<boolean>`${unindexedTenant} = ${tenant}`)
    .where('messages.tenant', '=', tenant)
    .where(sql<boolean>`messages.idx >= sessions.message_count - ${limits.messages}`)
    .orderBy('messages.idx')
  const { rows } = await query(database.forTenant(tenant).read, selection)
  const byRun = Map.groupBy(rows, (row) => `${row.request_id} ${row.owner}`)
  return [...byRun.values()].map((messages) => {
    const { owner, request_id: requestId, message_index } = messages[0]!
    return {
      tenant,
      owner,
      requestId,
      questionIndex: message_index ?? undefined,
      messages: messages.map(({ idx, role, content }) => ({ index: idx, role, content })),
    }
  })
}
