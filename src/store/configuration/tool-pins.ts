import type { Act } from '../../audit/acts.ts'
import type { AcceptedPins, Pin, PinStore, StoredPins } from '../../configuration/mcp/pin-store.ts'
import { query, type Database } from '../database.ts'
import type { ToolPinRow } from '../tables.ts'

/** `PinStore` in the table `tool_pins`. The configuration serves all tenants, and so do its pins. */
export function createPinStore({ db, all, ledger }: Database): PinStore {
  const { read, unit } = all
  const rows = db.selectFrom('tool_pins')
  const of = (entry: string, server: string) => rows.where('entry', '=', entry).where('server', '=', server)

  return {
    async list() {
      return (await query(read, rows.selectAll().orderBy('entry').orderBy('server'))).rows.map(toPins)
    },

    async find(entry, server) {
      const [row] = (await query(read, of(entry, server).selectAll())).rows
      return row && toPins(row)
    },

    async revision(entry, server) {
      return (await query(read, of(entry, server).select('revision'))).rows[0]?.revision ?? 0
    },

    save: ({ entry, server, tools: pins }, after, accepted) =>
      unit(async (connection) => {
        const [tools, revision] = [JSON.stringify(pins), after + 1]
        if (after === 0) {
          const insertion = db.insertInto('tool_pins').values({ entry, server, tools, revision })
          const { changes } = await query(
            connection,
            insertion.onConflict((conflict) => conflict.doNothing()),
          )
          return changes > 0
        }
        const update = db.updateTable('tool_pins').set({ tools, revision }).where('entry', '=', entry).where('server', '=', server)
        const isSaved = (await query<unknown>(connection, update.where('revision', '=', after))).changes > 0
        const acts = (accepted?.tools ?? []).map(toAct)
        if (isSaved && accepted?.acting) await ledger.record(connection, accepted.acting.tenant, accepted.acting, acts)
        return isSaved
      }),
  }
}

function toAct({ name, before, after }: AcceptedPins['tools'][number]): Act {
  return { action: 'tool.accepted', target: `tool:${name}`, data: { from: before, to: after } }
}

function toPins({ entry, server, tools, revision }: ToolPinRow): StoredPins {
  return { entry, server, tools: JSON.parse(tools) as Record<string, Pin>, revision }
}
