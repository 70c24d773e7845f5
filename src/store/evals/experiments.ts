import { sql } from 'kysely'
import type { Act } from '../../audit/acts.ts'
import type { Experiment, ExperimentStore, NewExperiment } from '../../evals/experiment-store.ts'
import { query, type Database } from '../database.ts'
import { json, parseJson, toText } from '../rows.ts'
import type { ExperimentRow } from '../tables.ts'
import { createExperimentResults } from './experiment-results.ts'

/** `ExperimentStore` on either database. */
export function createExperimentStore(database: Database): ExperimentStore {
  return { ...createExperiments(database), ...createExperimentResults(database) }
}

function createExperiments({
  db,
  jobs,
  forTenant,
  ledger,
}: Database): Pick<
  ExperimentStore,
  'insert' | 'findCreated' | 'find' | 'list' | 'start' | 'leave' | 'end' | 'remove' | 'completed' | 'configurations'
> {
  const unended = (tenant: string, id: string) =>
    db.updateTable('experiments').where('tenant', '=', tenant).where('id', '=', id).where('status', 'in', ['pending', 'running'])
  const ofTenant = (tenant: string) => db.selectFrom('experiments').select(columns).where('tenant', '=', tenant)

  return {
    insert: (experiment, acting) =>
      forTenant(experiment.tenant).unit(async (connection) => {
        const { tenant, owner, id, requestId, createdAt } = experiment
        const insert = db
          .insertInto('experiments')
          .values(toNewRow(experiment))
          .onConflict((conflict) => conflict.doNothing())
        if ((await query(connection, insert)).changes === 0) {
          const known = ofTenant(tenant).where('owner', '=', owner).where('request_id', '=', requestId)
          return { known: toExperiment((await query(connection, known)).rows[0]!) }
        }
        await jobs.insert(connection, [{ id, kind: 'experiment', tenant, data: { id }, dueAt: createdAt }])
        await ledger.record(connection, tenant, acting, toCreated(experiment))
        return undefined
      }),

    async findCreated({ tenant, owner }, requestId) {
      const created = ofTenant(tenant).where('owner', '=', owner).where('request_id', '=', requestId)
      return (await query(forTenant(tenant).read, created)).rows.map(toExperiment)[0]
    },

    async find(tenant, id) {
      return (await query(forTenant(tenant).read, ofTenant(tenant).where('id', '=', id))).rows.map(toExperiment)[0]
    },

    async list(tenant, { limit, before }) {
      let page = ofTenant(tenant).orderBy('id', 'desc').limit(limit)
      if (before !== undefined) page = page.where('id', '<', before)
      return (await query(forTenant(tenant).read, page)).rows.map(toExperiment)
    },

    start: (tenant, id, now) =>
      forTenant(tenant).unit(async (connection) => {
        const results = db.selectFrom('experiment_results').where('tenant', '=', tenant).where('experiment', '=', id)
        const { rows: counts } = await query(
          connection,
          results.select(({ fn }) => fn.countAll<number>().as('done')),
        )
        const { done } = counts[0]!
        const begun = {
          status: 'running' as const,
          started_at: sql<number>`coalesce(started_at, cast(${now} as bigint))`,
          losses: sql<number>`case when done_before = ${done} then losses + 1 else 0 end`,
          done_before: done,
        }
        const start = unended(tenant, id).set(begun).returning('losses')
        return (await query(connection, start)).rows[0]?.losses
      }),

    leave: (tenant, id) =>
      forTenant(tenant).unit(async (connection) => void (await query(connection, unended(tenant, id).set({ done_before: -1 })))),

    end: (tenant, id, { status, verdict, summary, error, now }, acting) =>
      forTenant(tenant).unit(async (connection) => {
        const ended = { verdict, summary: json(summary), error: error === undefined ? null : toText(error), ended_at: now }
        if ((await query(connection, unended(tenant, id).set({ ...ended, status, configurations: '' }))).changes === 0) return false
        await ledger.record(connection, tenant, acting, { action: 'experiment.cancelled', target: `experiment:${id}` })
        return true
      }),

    remove: (tenant, id, acting) =>
      forTenant(tenant).unit(async (connection) => {
        const removal = db.deleteFrom('experiments').where('tenant', '=', tenant).where('id', '=', id)
        if ((await query(connection, removal.where('status', 'not in', ['pending', 'running']))).changes === 0) return false
        await query(connection, db.deleteFrom('experiment_results').where('tenant', '=', tenant).where('experiment', '=', id))
        await ledger.record(connection, tenant, acting, { action: 'experiment.deleted', target: `experiment:${id}` })
        return true
      }),

    async completed(tenant, { dataset, configHash, since }) {
      const newest = ofTenant(tenant)
        .where('dataset', '=', dataset)
        .where('config_hash', '=', configHash)
        // A literal value, because a partial index is not used with a parameter.
        .where(sql<boolean>`status = 'completed'`)
        .where('ended_at', '>=', since)
        .orderBy('ended_at', 'desc')
        .limit(1)
      return (await query(forTenant(tenant).read, newest)).rows.map(toExperiment)[0]
    },

    async configurations(tenant, id) {
      const sealed = db.selectFrom('experiments').select('configurations').where('tenant', '=', tenant).where('id', '=', id)
      const { rows } = await query(forTenant(tenant).read, sealed.where('status', 'in', ['pending', 'running']))
      return rows[0]?.configurations
    },
  }
}

function toCreated({ id, dataset, configHash }: NewExperiment): Act {
  return { action: 'experiment.created', target: `experiment:${id}`, data: { dataset, config_hash: configHash ?? null } }
}

/** Columns without the configurations, which only the job reads. */
const columns = [
  'tenant',
  'id',
  'owner',
  'request_id',
  'body_hash',
  'spec',
  'status',
  'dataset',
  'config_hash',
  'verdict',
  'summary',
  'error',
  'created_at',
  'started_at',
  'ended_at',
] as const satisfies (keyof ExperimentRow)[]

function toNewRow({
  tenant,
  id,
  owner,
  requestId,
  bodyHash,
  spec,
  configurations,
  dataset,
  configHash,
  createdAt,
}: NewExperiment): ExperimentRow {
  return {
    tenant,
    id,
    owner,
    request_id: requestId,
    body_hash: bodyHash,
    spec: JSON.stringify(spec),
    configurations,
    losses: 0,
    done_before: -1,
    status: 'pending',
    dataset,
    config_hash: configHash ?? null,
    verdict: null,
    summary: null,
    error: null,
    created_at: createdAt,
    started_at: null,
    ended_at: null,
  }
}

function toExperiment(row: Pick<ExperimentRow, (typeof columns)[number]>): Experiment {
  return {
    tenant: row.tenant,
    id: row.id,
    owner: row.owner,
    requestId: row.request_id,
    bodyHash: row.body_hash,
    spec: JSON.parse(row.spec) as Experiment['spec'],
    status: row.status,
    dataset: row.dataset,
    configHash: row.config_hash ?? undefined,
    verdict: row.verdict ?? undefined,
    summary: parseJson(row.summary),
    error: row.error ?? undefined,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  }
}
