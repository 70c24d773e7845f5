import { sql, type Kysely } from 'kysely'
import type { Dataset, ListedDataset, StoredExample } from '../../evals/dataset.ts'
import type { DatasetStore, ExamplesPage, NewExample } from '../../evals/dataset-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { json, parseJson, toText } from '../rows.ts'
import type { DatasetRow, ExampleRow, Tables } from '../tables.ts'

/** `DatasetStore` on either database. */
export function createDatasetStore(database: Database): DatasetStore {
  return { ...createDatasets(database), ...createExamples(database) }
}

function createDatasets({
  db,
  isShared,
  forTenant,
  ledger,
}: Database): Pick<DatasetStore, 'insert' | 'find' | 'list' | 'change' | 'remove'> {
  const listed = () =>
    db
      .selectFrom('datasets')
      .selectAll()
      .select(({ selectFrom }) =>
        selectFrom('examples')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .whereRef('examples.tenant', '=', 'datasets.tenant')
          .whereRef('examples.dataset', '=', 'datasets.id')
          .where('until', 'is', null)
          .as('examples'),
      )

  async function hasName(connection: Connection, tenant: string, name: string, id: string): Promise<boolean> {
    const named = db.selectFrom('datasets').select('id').where('tenant', '=', tenant).where('name', '=', name).where('id', '!=', id)
    return (await query(connection, named)).rows.length > 0
  }

  return {
    insert: (dataset, max) =>
      forTenant(dataset.tenant).unit(async (connection) => {
        const { tenant, name, id } = dataset
        if (isShared) await connection.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`datasets ${tenant}`])
        if (await hasName(connection, tenant, name, id)) return 'name'
        const all = db.selectFrom('datasets').select(({ fn }) => fn.countAll<number>().as('count'))
        if ((await query(connection, all.where('tenant', '=', tenant))).rows[0]!.count >= max) return 'tenant'
        await query(connection, db.insertInto('datasets').values(toDatasetRow(dataset)))
        return 'added'
      }),

    async find(tenant, idOrName) {
      const named = listed()
        .where('tenant', '=', tenant)
        .where((is) => is.or([is('id', '=', idOrName), is('name', '=', idOrName)]))
        .orderBy(sql`case when id = ${idOrName} then 0 else 1 end`)
        .limit(1)
      return (await query(forTenant(tenant).read, named)).rows.map(toListed)[0]
    },

    async list(tenant, { limit, before }) {
      let page = listed().where('tenant', '=', tenant).orderBy('id', 'desc').limit(limit)
      if (before !== undefined) page = page.where('id', '<', before)
      return (await query(forTenant(tenant).read, page)).rows.map(toListed)
    },

    change: (tenant, id, changes, now) =>
      forTenant(tenant).unit(async (connection) => {
        const dataset = await lockDataset(db, isShared, connection, tenant, id)
        if (!dataset) return undefined
        if (changes.name !== undefined && (await hasName(connection, tenant, changes.name, id))) return 'name'
        const revision = dataset.revision + (changes.scorers ? 1 : 0)
        const changed = { ...dataset, ...changes, revision, updatedAt: now }
        await query(connection, db.updateTable('datasets').set(toDatasetRow(changed)).where('tenant', '=', tenant).where('id', '=', id))
        return changed
      }),

    remove: (tenant, id, acting) =>
      forTenant(tenant).unit(async (connection) => {
        if (!(await lockDataset(db, isShared, connection, tenant, id))) return false
        const experiments = db.selectFrom('experiments').select('id').where('tenant', '=', tenant).where('dataset', '=', id)
        await query(connection, db.deleteFrom('experiment_results').where('tenant', '=', tenant).where('experiment', 'in', experiments))
        for (const table of ['experiments', 'example_media', 'examples'] as const)
          await query(connection, db.deleteFrom(table).where('tenant', '=', tenant).where('dataset', '=', id))
        await query(connection, db.deleteFrom('datasets').where('tenant', '=', tenant).where('id', '=', id))
        await ledger.record(connection, tenant, acting, { action: 'dataset.deleted', target: `dataset:${id}` })
        return true
      }),
  }
}

function createExamples({
  db,
  isShared,
  forTenant,
  ledger,
}: Database): Pick<DatasetStore, 'addExample' | 'changeExample' | 'removeExample' | 'example' | 'examples' | 'media'> {
  const ofDataset = (tenant: string, dataset: string) =>
    db.selectFrom('examples').selectAll().where('tenant', '=', tenant).where('dataset', '=', dataset)

  const inRevision = (tenant: string, dataset: string, revision: number | undefined) => {
    const examples = ofDataset(tenant, dataset)
    if (revision === undefined) return examples.where('until', 'is', null)
    return examples.where('revision', '<=', revision).where((is) => is.or([is('until', 'is', null), is('until', '>', revision)]))
  }

  /** False for a deleted session. A deletion that begins now waits, and then takes the example with it. */
  async function holdSession(connection: Connection, tenant: string, key: string): Promise<boolean> {
    const session = db.selectFrom('sessions').select('key').where('tenant', '=', tenant).where('key', '=', key)
    return (await query(connection, isShared ? session.forShare() : session)).rows.length > 0
  }

  /** Ends the current form of an example in a new revision of the dataset. Undefined for an unknown example. */
  async function end(connection: Connection, tenant: string, dataset: string, id: string, now: number) {
    const locked = await lockDataset(db, isShared, connection, tenant, dataset)
    if (!locked) return undefined
    const [row] = (await query(connection, inRevision(tenant, dataset, undefined).where('id', '=', id))).rows
    if (!row) return undefined
    const revision = await nextRevision(db, connection, locked, now)
    const current = db.updateTable('examples').set({ until: revision }).where('tenant', '=', tenant).where('dataset', '=', dataset)
    await query(connection, current.where('id', '=', id).where('revision', '=', row.revision))
    return { row, revision }
  }

  return {
    addExample: (tenant, dataset, example, max) =>
      forTenant(tenant).unit(async (connection) => {
        const locked = await lockDataset(db, isShared, connection, tenant, dataset)
        if (!locked) return undefined
        if (example.session !== undefined && !(await holdSession(connection, tenant, example.session))) return 'gone'
        const count = db.selectFrom('examples').select(({ fn }) => fn.countAll<number>().as('count'))
        const current = count.where('tenant', '=', tenant).where('dataset', '=', dataset).where('until', 'is', null)
        if ((await query(connection, current)).rows[0]!.count >= max) return 'full'
        const revision = await nextRevision(db, connection, locked, example.createdAt)
        const row = toExampleRow(tenant, dataset, { ...example, revision })
        await query(connection, db.insertInto('examples').values(row))
        await insertMedia(db, connection, row, example)
        return toExample(row)
      }),

    changeExample: (tenant, dataset, id, change, now, acting) =>
      forTenant(tenant).unit(async (connection) => {
        const ended = await end(connection, tenant, dataset, id, now)
        if (!ended) return undefined
        const { row, revision } = ended
        const example = toExample(row)
        const changes = change(example)
        const isDetached = 'source' in changes
        const changed: StoredExample = { ...example, ...changes, revision, createdAt: now }
        const next = toExampleRow(tenant, dataset, isDetached ? { ...changed, session: undefined } : changed)
        await query(connection, db.insertInto('examples').values(next))
        if (isDetached && row.source !== null) {
          await detachMedia(db, connection, tenant, dataset, id)
          await ledger.record(connection, tenant, acting, {
            action: 'dataset.detached',
            target: `dataset:${dataset}`,
            data: { example: id },
          })
        }
        return toExample(next)
      }),

    removeExample: (tenant, dataset, id, now) =>
      forTenant(tenant).unit(async (connection) => (await end(connection, tenant, dataset, id, now)) !== undefined),

    async example(tenant, dataset, id, revision) {
      const { rows } = await query(forTenant(tenant).read, inRevision(tenant, dataset, revision).where('id', '=', id))
      return rows.map(toExample)[0]
    },

    async examples(tenant, dataset, { revision, limit, before, after }: ExamplesPage) {
      let page = inRevision(tenant, dataset, revision)
        .orderBy('id', after === undefined ? 'desc' : 'asc')
        .limit(limit)
      if (before !== undefined) page = page.where('id', '<', before)
      if (after !== undefined) page = page.where('id', '>', after)
      return (await query(forTenant(tenant).read, page)).rows.map(toExample)
    },

    async media(tenant, dataset, example) {
      const media = db
        .selectFrom('example_media')
        .select(['hash', 'media_type as mediaType', 'data'])
        .where('tenant', '=', tenant)
        .where('dataset', '=', dataset)
        .where('example', '=', example)
        .orderBy('hash')
      return (await query(forTenant(tenant).read, media)).rows.map((row) => ({ ...row }))
    },
  }
}

/** Reads a dataset for a change: concurrent changes wait. */
async function lockDataset(
  db: Kysely<Tables>,
  isShared: boolean,
  connection: Connection,
  tenant: string,
  id: string,
): Promise<Dataset | undefined> {
  const dataset = db.selectFrom('datasets').selectAll().where('tenant', '=', tenant).where('id', '=', id)
  return (await query(connection, isShared ? dataset.forUpdate() : dataset)).rows.map(toDataset)[0]
}

async function nextRevision(db: Kysely<Tables>, connection: Connection, { tenant, id, revision }: Dataset, now: number): Promise<number> {
  const next = { revision: revision + 1, updated_at: now }
  await query(connection, db.updateTable('datasets').set(next).where('tenant', '=', tenant).where('id', '=', id))
  return next.revision
}

async function insertMedia(
  db: Kysely<Tables>,
  connection: Connection,
  { tenant, dataset, session }: ExampleRow,
  { id, media }: NewExample,
): Promise<void> {
  for (const { hash, mediaType, data } of media) {
    const row = { tenant, dataset, example: id, hash, session, media_type: mediaType, data }
    await query(
      connection,
      db
        .insertInto('example_media')
        .values(row)
        .onConflict((conflict) => conflict.doNothing()),
    )
  }
}

async function detachMedia(db: Kysely<Tables>, connection: Connection, tenant: string, dataset: string, example: string): Promise<void> {
  const media = db.updateTable('example_media').set({ session: '' }).where('tenant', '=', tenant).where('dataset', '=', dataset)
  await query(connection, media.where('example', '=', example))
}

function toDatasetRow({ tenant, id, name, description, scorers, share, revision, createdAt, updatedAt }: Dataset): DatasetRow {
  const texts = { name: toText(name), description: toText(description), scorers: JSON.stringify(scorers) }
  return { tenant, id, ...texts, share, revision, created_at: createdAt, updated_at: updatedAt }
}

function toDataset({ tenant, id, name, description, scorers, share, revision, created_at, updated_at }: DatasetRow): Dataset {
  const times = { createdAt: created_at, updatedAt: updated_at }
  return { tenant, id, name, description, scorers: parseJson<Dataset['scorers']>(scorers) ?? [], share, revision, ...times }
}

function toListed(row: DatasetRow & { examples: number | null }): ListedDataset {
  return { ...toDataset(row), examples: row.examples ?? 0 }
}

function toExampleRow(tenant: string, dataset: string, example: StoredExample): ExampleRow {
  const { id, revision, session, name, tags, source, content, createdAt } = example
  return {
    tenant,
    dataset,
    id,
    revision,
    until: null,
    session: session ?? '',
    name: toText(name),
    tags: JSON.stringify(tags),
    source: json(source),
    content: JSON.stringify(content),
    created_at: createdAt,
  }
}

function toExample({ id, revision, session, name, tags, source, content, created_at }: ExampleRow): StoredExample {
  return {
    id,
    revision,
    name,
    tags: JSON.parse(tags) as string[],
    source: parseJson(source),
    session: session === '' ? undefined : session,
    content: JSON.parse(content) as StoredExample['content'],
    createdAt: created_at,
  }
}
