import { sql, type Kysely } from 'kysely'
import type { Experiment, ExperimentResult, ExperimentStore, NewExperiment } from '../../evals/experiment-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { json, parseJson, toText } from '../rows.ts'
import type { ExperimentResultRow, ExperimentRow, Tables } from '../tables.ts'

/** `ExperimentStore` on either database. */
export function createExperimentStore(database: Database): ExperimentStore {
  return { ...createExperiments(database), ...createResults(database) }
}

function createExperiments({
  db,
  jobs,
  forTenant,
}: Database): Pick<ExperimentStore, 'insert' | 'find' | 'list' | 'start' | 'end' | 'remove' | 'passed'> {
  const ofTenant = (tenant: string) => db.selectFrom('experiments').selectAll().where('tenant', '=', tenant)

  return {
    insert: (experiment) =>
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
        return undefined
      }),

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
        const begun = { status: 'running' as const, started_at: sql<number>`coalesce(started_at, cast(${now} as bigint))` }
        const start = db.updateTable('experiments').set(begun).where('tenant', '=', tenant).where('id', '=', id)
        return (await query(connection, start.where('status', 'in', ['pending', 'running']))).changes > 0
      }),

    end: (tenant, id, { status, verdict, summary, error, now }) =>
      forTenant(tenant).unit(async (connection) => {
        const ended = { status, verdict, summary: json(summary), error: error === undefined ? null : toText(error), ended_at: now }
        const end = db.updateTable('experiments').set(ended).where('tenant', '=', tenant).where('id', '=', id)
        return (await query(connection, end.where('status', 'in', ['pending', 'running']))).changes > 0
      }),

    remove: (tenant, id) =>
      forTenant(tenant).unit(async (connection) => {
        const removal = db.deleteFrom('experiments').where('tenant', '=', tenant).where('id', '=', id)
        if ((await query(connection, removal.where('status', 'not in', ['pending', 'running']))).changes === 0) return false
        await query(connection, db.deleteFrom('experiment_results').where('tenant', '=', tenant).where('experiment', '=', id))
        return true
      }),

    async passed(tenant, { dataset, configHash, since }) {
      const newest = ofTenant(tenant)
        .where('dataset', '=', dataset)
        .where('config_hash', '=', configHash)
        // A literal value, because a partial index is not used with a parameter.
        .where(sql<boolean>`verdict = 'passed'`)
        .where('ended_at', '>=', since)
        .orderBy('ended_at', 'desc')
        .limit(1)
      return (await query(forTenant(tenant).read, newest)).rows.map(toExperiment)[0]
    },
  }
}

function createResults({ db, isShared, forTenant }: Database): Pick<ExperimentStore, 'addResult' | 'done' | 'results'> {
  const ofExperiment = (tenant: string, id: string) =>
    db.selectFrom('experiment_results').where('tenant', '=', tenant).where('experiment', '=', id)

  return {
    addResult: (tenant, id, result) =>
      forTenant(tenant).unit(async (connection) => {
        if (!(await isRunning(db, isShared, connection, tenant, id))) return false
        const insert = db.insertInto('experiment_results').values(toResultRow(tenant, id, result))
        await query(
          connection,
          insert.onConflict((conflict) => conflict.doNothing()),
        )
        return true
      }),

    async done(tenant, id) {
      return (await query(forTenant(tenant).read, ofExperiment(tenant, id).select(['variant', 'example', 'repetition']))).rows
    },

    async results(tenant, id, { limit, offset }) {
      const page = ofExperiment(tenant, id).selectAll().orderBy('example').orderBy('variant').orderBy('repetition')
      return (await query(forTenant(tenant).read, page.limit(limit).offset(offset))).rows.map(toResult)
    },
  }
}

/** Locks the experiment, so that no result is stored behind its end. */
async function isRunning(db: Kysely<Tables>, isShared: boolean, connection: Connection, tenant: string, id: string): Promise<boolean> {
  const running = db
    .selectFrom('experiments')
    .select('id')
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .where('status', '=', 'running')
  return (await query(connection, isShared ? running.forShare() : running)).rows.length > 0
}

function toNewRow({ tenant, id, owner, requestId, bodyHash, spec, dataset, configHash, createdAt }: NewExperiment): ExperimentRow {
  return {
    tenant,
    id,
    owner,
    request_id: requestId,
    body_hash: bodyHash,
    spec: JSON.stringify(spec),
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

function toExperiment(row: ExperimentRow): Experiment {
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

function toResultRow(tenant: string, experiment: string, result: ExperimentResult): ExperimentResultRow {
  const { variant, example, repetition, outcome, session, content, createdAt } = result
  const key = { tenant, experiment, variant, example, repetition }
  return { ...key, session: session ?? '', outcome, content: JSON.stringify(content), created_at: createdAt }
}

function toResult({ variant, example, repetition, outcome, session, content, created_at }: ExperimentResultRow): ExperimentResult {
  const parsed = JSON.parse(content) as ExperimentResult['content']
  return { variant, example, repetition, outcome, session: session === '' ? undefined : session, content: parsed, createdAt: created_at }
}
