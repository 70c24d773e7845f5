import { sql } from 'kysely'
import { callerKey, type Owner } from '../../access/owner.ts'
import { query, type Database } from '../database.ts'
import { whereChat } from '../runs/where-chat.ts'

/**
 * Counts the unended chats of a caller in all processes. A chat in the queue of its session counts, unless the chat is asynchronous.
 * Concurrent calls for one caller share one query.
 */
export function createRunCount({ db, forTenant }: Database): (caller: Owner) => Promise<number> {
  const pendingCounts = new Map<string, Promise<number>>()

  async function count({ tenant, owner }: Owner): Promise<number> {
    const activeRuns = db
      .selectFrom('runs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('owner', '=', owner)
      // Literal, as in the condition of the index of unended runs.
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where(whereChat)
      .where(({ eb, or }) => or([eb('status', '=', 'running'), eb('operation', '!=', 'chain_async')]))
    return (await query(forTenant(tenant).read, activeRuns)).rows[0]?.count ?? 0
  }

  return (caller) => {
    const name = callerKey(caller)
    const pendingCount = pendingCounts.get(name)
    if (pendingCount) return pendingCount
    const answer = count(caller).finally(() => pendingCounts.delete(name))
    pendingCounts.set(name, answer)
    return answer
  }
}
