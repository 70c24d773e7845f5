import type { CompactLog } from '../../runs/log/compact-log.ts'
import type { EchoStore } from '../../runs/log/echo-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { query, type Database } from '../database.ts'
import { keyColumns, parseJson } from '../rows.ts'

/** `EchoStore` on either database. */
export function createEchoStore({ db, forTenant }: Database): EchoStore {
  const updateOf = (key: RunKey) => {
    const { tenant, owner, request_id: requestId } = keyColumns(key)
    return db.updateTable('runs').where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', '=', requestId)
  }

  return {
    replace: ({ request, fence, ...key }, echo) =>
      forTenant(key.tenant).unit(async (connection) => {
        const update = updateOf(key)
          .set({ request: JSON.stringify({ ...request, echo }) })
          .where('status', '=', 'interrupted')
          .where('fence', '=', fence)
        return (await query(connection, update.returning('request_id'))).rows.length > 0
      }),

    remove: (key) =>
      forTenant(key.tenant).unit(async (connection) => {
        // The update locks the row, so that no repeat continues the run in between.
        const end = updateOf(key).set({ request: null, continuable: 0 }).where('ended_at', 'is not', null)
        const log = parseJson<CompactLog>((await query(connection, end.returning('log'))).rows[0]?.log ?? null)
        if (!log?.echo) return
        const { echo: _, ...rest } = log
        await query(connection, updateOf(key).set({ log: JSON.stringify(rest) }))
      }),
  }
}
