import { sql } from 'kysely'
import { callerKey, type Owner } from '../../access/owner.ts'
import { query, type Database } from '../database.ts'

/**
 * How many chats of a caller have begun and not ended, in all processes; one that waits in the line for its session has begun, an async one
 * has not. Who asks while the same is asked gets that answer.
 */
export function createRunCount({ db, forTenant }: Database): (caller: Owner) => Promise<number> {
  const pendingCounts = new Map<string, Promise<number>>()

  async function count({ tenant, owner }: Owner): Promise<number> {
    const activeRuns = db
      .selectFrom('runs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('owner', '=', owner)
      // As the index of unended runs has it.
      .where(sql<boolean>`status in ('pending', 'running')`)
      .where('operation', '!=', 'tool_execute')
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
