import { sql, type Kysely } from 'kysely'
import type { JsonValue } from '../../agent/messages.ts'
import type { ExperimentResult, ExperimentStore } from '../../evals/experiment-store.ts'
import type { DoneResult } from '../../evals/experiments/figures.ts'
import { query, type Connection, type Database } from '../database.ts'
import type { ExperimentResultRow, Tables } from '../tables.ts'

const resultColumns = [
  'variant',
  'example',
  'repetition',
  'session',
  'outcome',
  'figures',
  'content',
  'created_at',
] as const satisfies (keyof ExperimentResultRow)[]

/** Characters of a page of results. A page ends earlier for longer ones, and has one result at least. */
const maxPageCharacters = 4 * 1024 * 1024

/** Results whose figures are read at once. */
const figuresAtOnce = 1000

/** The results of experiments, on either database. */
export function createExperimentResults({
  db,
  isShared,
  forTenant,
}: Database): Pick<ExperimentStore, 'addResult' | 'done' | 'results' | 'resultsOf'> {
  const ofExperiment = (tenant: string, id: string) =>
    db.selectFrom('experiment_results').where('tenant', '=', tenant).where('experiment', '=', id)

  return {
    addResult: (tenant, id, result) =>
      forTenant(tenant).unit(async (connection) => {
        if (!(await isRunning(db, isShared, connection, tenant, id))) return false
        if (result.session !== undefined && !(await holdExample(db, isShared, connection, { ...result, tenant }))) return true
        const insert = db.insertInto('experiment_results').values(toResultRow(tenant, id, result))
        await query(
          connection,
          insert.onConflict((conflict) => conflict.doNothing()),
        )
        return true
      }),

    async done(tenant, id) {
      const done: DoneResult[] = []
      const page = ofExperiment(tenant, id).select(['variant', 'example', 'repetition', 'outcome', 'figures']).limit(figuresAtOnce)
      const inOrder = page.orderBy('variant').orderBy('example').orderBy('repetition')
      for (;;) {
        const last = done.at(-1)
        const rest = last
          ? inOrder.where(({ eb, refTuple, tuple }) =>
              eb(refTuple('variant', 'example', 'repetition'), '>', tuple(last.variant, last.example, last.repetition)),
            )
          : inOrder
        const { rows } = await query(forTenant(tenant).read, rest)
        for (const { figures, ...key } of rows) done.push({ ...key, figures: JSON.parse(figures) as DoneResult['figures'] })
        if (rows.length < figuresAtOnce) return done
      }
    },

    async results(tenant, id, { limit, offset, having }) {
      const { read } = forTenant(tenant)
      /** The rows of some examples and repetitions, in order. */
      const rowsOf = (count: number) => {
        let keys = ofExperiment(tenant, id).select(['example', 'repetition']).groupBy(['example', 'repetition'])
        if (having) keys = keys.where('variant', '=', having.variant).where('outcome', '=', having.outcome)
        const page = keys.orderBy('example').orderBy('repetition').limit(count).offset(offset).as('page')
        return db
          .selectFrom('experiment_results as result')
          .innerJoin(page, (join) => join.onRef('page.example', '=', 'result.example').onRef('page.repetition', '=', 'result.repetition'))
          .where('tenant', '=', tenant)
          .where('experiment', '=', id)
          .orderBy('result.example')
          .orderBy('result.repetition')
      }
      const sizes = rowsOf(limit + 1)
        .select(['result.example', 'result.repetition', sql<number>`sum(length(result.content))`.as('characters')])
        .groupBy(['result.example', 'result.repetition'])
      const found = (await query(read, sizes)).rows
      const count = Math.min(limit, countWithin(found, maxPageCharacters))
      if (count === 0) return { results: [], hasMore: false }
      const rows = rowsOf(count)
        .select(resultColumns.map((column) => `result.${column}` as const))
        .orderBy('result.variant')
      return { results: (await query(read, rows)).rows.map(toResult), hasMore: found.length > count }
    },

    async resultsOf(tenant, id, { example, repetition }) {
      const rows = ofExperiment(tenant, id)
        .select([...resultColumns, 'trace'])
        .where('example', '=', example)
        .where('repetition', '=', repetition)
        .orderBy('variant')
      const found = (await query(forTenant(tenant).read, rows)).rows
      return found.map((row) => ({ ...toResult(row), trace: JSON.parse(row.trace) as JsonValue[] }))
    },
  }
}

/** How many rows fit; one at least. */
function countWithin(rows: readonly { characters: number }[], max: number): number {
  let total = 0
  const tooMany = rows.findIndex(({ characters }, index) => (total += characters) > max && index > 0)
  return tooMany < 0 ? rows.length : tooMany
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

interface ExampleOfSession {
  tenant: string
  session?: string | undefined
  example: string
}

/** Locks the example, so that the deletion of its session takes the result too. False where the session was deleted. */
async function holdExample(
  db: Kysely<Tables>,
  isShared: boolean,
  connection: Connection,
  { tenant, session = '', example }: ExampleOfSession,
): Promise<boolean> {
  const rows = db.selectFrom('examples').select('id').where('session', '=', session).where('tenant', '=', tenant).where('id', '=', example)
  return (await query(connection, isShared ? rows.forShare() : rows)).rows.length > 0
}

function toResultRow(tenant: string, experiment: string, result: ExperimentResult): ExperimentResultRow {
  const { variant, example, repetition, outcome, session, figures, content, trace = [], createdAt } = result
  const key = { tenant, experiment, variant, example, repetition }
  const texts = { figures: JSON.stringify(figures), content: JSON.stringify(content), trace: JSON.stringify(trace) }
  return { ...key, ...texts, session: session ?? '', outcome, created_at: createdAt }
}

function toResult(row: Pick<ExperimentResultRow, (typeof resultColumns)[number]>): ExperimentResult {
  const { variant, example, repetition, outcome, session, created_at: createdAt } = row
  return {
    variant,
    example,
    repetition,
    outcome,
    session: session === '' ? undefined : session,
    figures: JSON.parse(row.figures) as ExperimentResult['figures'],
    content: JSON.parse(row.content) as ExperimentResult['content'],
    createdAt,
  }
}
