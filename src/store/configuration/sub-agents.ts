import { sql } from 'kysely'
import { callerKey, type Owner } from '../../access/owner.ts'
import type { BusyMark, SubAgent, SubAgentStore } from '../../sub-agents/sub-agent-store.ts'
import { query, type Database, statement, type Connection, type Param } from '../database.ts'
import { clockOf } from '../leases/processes.ts'
import { toText } from '../rows.ts'
import type { SubAgentRow } from '../tables.ts'

/** `SubAgentStore` on either database. */
export function createSubAgentStore({ db, forTenant, isShared, ledger }: Database): SubAgentStore {
  const clock = clockOf({ isShared })
  const listOf = statement(db, (builder, param: Param<Owner>) =>
    builder
      .selectFrom('sub_agents')
      .selectAll()
      .select(sql<number>`case when busy_until > ${clock} then 1 else 0 end`.as('is_busy'))
      .where('tenant', '=', param('tenant'))
      .where('owner', '=', param('owner'))
      .orderBy('created_at')
      .orderBy('id'),
  )
  const subAgentKey = ({ tenant, owner }: Owner, id: string) => ({ tenant, owner, id })

  const until = ({ busyForMs }: BusyMark) => (busyForMs === 0 ? 0 : sql<number>`${clock} + ${busyForMs}`)

  /** Serializes the inserts of a caller: a concurrent count would miss uncommitted rows. SQLite has a single writer anyway. */
  async function lock(connection: Connection, caller: Owner): Promise<void> {
    if (isShared) await connection.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [callerKey(caller)])
  }

  return {
    async list({ tenant, owner }) {
      const { rows } = await listOf(forTenant(tenant).read, { tenant, owner })
      return rows.map(toSubAgent)
    },

    insert: (caller, subAgent, max, acting) =>
      forTenant(caller.tenant).unit(async (connection) => {
        await lock(connection, caller)
        const row = toRow(caller, subAgent)
        const { rows } = await listOf(connection, caller)
        if (rows.some((existing) => existing.name === row.name)) return 'exists'
        if (rows.length >= max) return 'full'
        await query(connection, db.insertInto('sub_agents').values(row))
        const act = { action: 'sub_agent.created', target: `sub_agent:${row.id}`, data: { tools: subAgent.tools } } as const
        await ledger.record(connection, caller.tenant, acting, act)
        return 'added'
      }),

    remove: (caller, id, acting) =>
      forTenant(caller.tenant).unit(async (connection) => {
        const removal = db.deleteFrom('sub_agents').where((is) => is.and(subAgentKey(caller, id)))
        const isRemoved = (await query<unknown>(connection, removal)).changes > 0
        const act = { action: 'sub_agent.deleted', target: `sub_agent:${id}` } as const
        if (isRemoved) await ledger.record(connection, caller.tenant, acting, act)
        return isRemoved
      }),

    async atWork(caller, id, work) {
      const update = db
        .updateTable('sub_agents')
        .set({ last_active: work.now, busy_by: work.holder, busy_until: until(work) })
        .where((is) => is.and(subAgentKey(caller, id)))
      return (await forTenant(caller.tenant).unit((connection) => query(connection, update))).changes > 0
    },

    async ended(caller, id, work) {
      const failed = work.hasFailed === undefined ? {} : { has_failed: work.hasFailed ? 1 : 0 }
      const at = { last_active: work.now, ...failed }
      const key = subAgentKey(caller, id)
      await forTenant(caller.tenant).unit(async (connection) => {
        await query(
          connection,
          db
            .updateTable('sub_agents')
            .set(at)
            .where((is) => is.and(key)),
        )
        // A process changes `busy_until` only when the last work on the sub-agent was its own.
        const ownUpdate = db
          .updateTable('sub_agents')
          .set({ busy_until: until(work) })
          .where((is) => is.and({ ...key, busy_by: work.holder }))
        await query(connection, ownUpdate)
      })
    },
  }
}

function toRow({ tenant, owner }: Owner, subAgent: SubAgent): SubAgentRow {
  const { id, name, description, objective, tools, workflowType, madeBy, hasFailed, createdAt, lastActive } = subAgent
  return {
    tenant,
    owner,
    id,
    name: toText(name).toWellFormed(),
    description: toText(description),
    objective: toText(objective),
    tools: JSON.stringify(tools),
    workflow_type: workflowType,
    made_by: madeBy,
    has_failed: hasFailed ? 1 : 0,
    busy_by: '',
    busy_until: 0,
    created_at: createdAt,
    last_active: lastActive,
  }
}

function toSubAgent(row: SubAgentRow & { is_busy: number }): SubAgent {
  const { id, name, description, objective, tools, workflow_type, made_by, has_failed, is_busy, created_at, last_active } = row
  return {
    id,
    name,
    description,
    objective,
    tools: JSON.parse(tools) as string[],
    workflowType: workflow_type,
    madeBy: made_by,
    hasFailed: has_failed === 1,
    isBusy: is_busy === 1,
    createdAt: created_at,
    lastActive: last_active,
  }
}
