import type { SummaryStore } from '../../runs/window/summary.ts'
import type { RunStore } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import { toWindow } from '../rows.ts'

/** `SummaryStore` on either database. */
export function createSummaryStore(database: Database, { history }: Pick<RunStore, 'history'>): SummaryStore {
  const { db } = database
  return {
    history,

    async window(tenant, session) {
      const selection = db
        .selectFrom('sessions')
        .select(['window_start', 'summary'])
        .where('tenant', '=', tenant)
        .where('key', '=', session)
      const [row] = (await query(database.forTenant(tenant).read, selection)).rows
      if (!row) return undefined
      const { windowStart, summary } = toWindow(row)
      return { start: windowStart, summary }
    },

    async moveWindow(tenant, session, { start, end, summary }) {
      const moved = db
        .updateTable('sessions')
        .set({ window_start: end, summary: JSON.stringify(summary) })
        .where('tenant', '=', tenant)
        .where('key', '=', session)
        .where('window_start', '=', start)
      const { changes } = await database.forTenant(tenant).unit((connection) => query(connection, moved))
      return changes === 1
    },
  }
}
