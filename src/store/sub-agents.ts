import { sql } from 'kysely'
import { callerKey, type Owner } from '../access/owner.ts'
import type { AtWork, SubAgent, SubAgentStore } from '../sub-agents/sub-agent-store.ts'
import { query, type Database } from './database.ts'
import { clockOf } from './leases/processes.ts'
import { toText } from './rows.ts'
import { statement, type Connection, type Param } from './statement.ts'
import type { SubAgentRow } from './tables.ts'

/** `SubAgentStore` on either database. */
export function createSubAgentStore({ db, forTenant, isShared }: Database): SubAgentStore {
  const clock = clockOf({ isShared })
  const listOf = statement(db, (of, param: Param<Owner>) =>
    of
      .selectFrom('sub_agents')
      .selectAll()
      .select(sql<number>`case when busy_until > ${clock} then 1 else 0 end`.as('is_busy'))
      .where('tenant', '=', param('tenant'))
      .where('owner', '=', param('owner'))
      .orderBy('created_at')
      .orderBy('id'),
  )
  const one = ({ tenant, owner }: Owner, id: string) => ({ tenant, owner, id })

  const until = ({ busyForMs }: AtWork) => (busyForMs === 0 ? 0 : sql<number>`${clock} + ${busyForMs}`)

  /** Others that count at the same time would not see what is not committed yet: they wait. SQLite has one writer anyway. */
  async function lock(connection: Connection, who: Owner): Promise<void> {
    if (isShared) await connection.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [callerKey(who)])
  }

  return {
    async list({ tenant, owner }) {
      const { rows } = await listOf(forTenant(tenant).read, { tenant, owner })
      return rows.map(toSubAgent)
    },

    insert: (who, subAgent, max) =>
      forTenant(who.tenant).unit(async (connection) => {
        await lock(connection, who)
        const row = toRow(who, subAgent)
        const { rows } = await listOf(connection, who)
        if (rows.some((other) => other.name === row.name)) return 'exists'
        if (rows.length >= max) return 'full'
        await query(connection, db.insertInto('sub_agents').values(row))
        return 'added'
      }),

    async remove(who, id) {
      const removal = db.deleteFrom('sub_agents').where((is) => is.and(one(who, id)))
      return (await forTenant(who.tenant).unit((connection) => query(connection, removal))).changes > 0
    },

    async atWork(who, id, by) {
      const update = db
        .updateTable('sub_agents')
        .set({ last_active: by.now, busy_by: by.holder, busy_until: until(by) })
        .where((is) => is.and(one(who, id)))
      return (await forTenant(who.tenant).unit((connection) => query(connection, update))).changes > 0
    },

    async ended(who, id, by) {
      const failed = by.hasFailed === undefined ? {} : { has_failed: by.hasFailed ? 1 : 0 }
      const at = { last_active: by.now, ...failed }
      const same = one(who, id)
      await forTenant(who.tenant).unit(async (connection) => {
        await query(
          connection,
          db
            .updateTable('sub_agents')
            .set(at)
            .where((is) => is.and(same)),
        )
        // What another process has said of its own work stays.
        const own = db
          .updateTable('sub_agents')
          .set({ busy_until: until(by) })
          .where((is) => is.and({ ...same, busy_by: by.holder }))
        await query(connection, own)
      })
    },
  }
}

function toRow({ tenant, owner }: Owner, one: SubAgent): SubAgentRow {
  const { id, name, description, objective, tools, workflowType, madeBy, hasFailed, createdAt, lastActive } = one
  return {
    ...{ tenant, owner, id, name: toText(name).toWellFormed(), description: toText(description), objective: toText(objective) },
    ...{ tools: JSON.stringify(tools), workflow_type: workflowType, made_by: madeBy, has_failed: hasFailed ? 1 : 0 },
    ...{ busy_by: '', busy_until: 0, created_at: createdAt, last_active: lastActive },
  }
}

function toSubAgent(row: SubAgentRow & { is_busy: number }): SubAgent {
  const { id, name, description, objective, tools, workflow_type, made_by, has_failed, is_busy, created_at, last_active } = row
  return {
    ...{ id, name, description, objective, tools: JSON.parse(tools) as string[], workflowType: workflow_type, madeBy: made_by },
    ...{ hasFailed: has_failed === 1, isBusy: is_busy === 1, createdAt: created_at, lastActive: last_active },
  }
}
