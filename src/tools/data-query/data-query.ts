import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { createTool, inputSchema, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { serviceItself } from '../../processes/fair-pool.ts'
import type { DatabasePlan } from './database.ts'
import { createKeptDescriptions, toTableLines, type TableDescription } from './descriptions.ts'
import { createQueryProcess, QueryFailure } from './process.ts'
import type { QueryRows } from './rows.ts'
import { createTables, type TableSource } from './tables.ts'
import { messageOf } from '../../errors.ts'

const defaultMaxRows = 200
/** Time limit for reading all tables once when the tool is built, which finds broken tables before a chat does. */
const firstLoadMs = 60_000
/** Tables that load faster are loaded again by the first query. Until then, no process holds them in memory. */
const quickLoadMs = 2_000
/** Characters of the JSON around the rows. */
const envelopeCharacters = 100

const schema = inputSchema(
  { sql: { type: 'string', minLength: 1, maxLength: 100_000, description: 'One SELECT statement in the DuckDB dialect.' } },
  ['sql'],
)

/** The part of a call's context which decides on visible data. */
export type DataScope = Pick<ToolContext, 'filters' | 'isWithheld'>

/** A tool whose description contains data: in a restricted scope the model must be given `describe(scope)` instead. */
export interface DataQueryTool extends Tool {
  describe(scope: DataScope): string
}

/** The built-in type `data_query`: SQL over files. Rejects with a sentence naming the table and the path of an unreadable table. */
export async function createDataQuery(spec: ToolSpec, deps: ToolDependencies): Promise<ToolBuild & { tool: DataQueryTool }> {
  const paths = spec.config['tables'] as Record<string, string>
  const tables = createTables(paths, deps.files)
  const engine = createQueryProcess({ maxCharacters: spec.maxOutputCharacters })
  const kept = createKeptDescriptions(spec.name, deps.cacheDir)

  async function describeAll(): Promise<DescribedTables> {
    const { sources } = await tables.find(() => false)
    const versions = versionsOf(sources)
    const known = await kept.find(sources)
    if (known) return { versions, tables: known }
    const startedAt = performance.now()
    const plan: DatabasePlan = { tables: sources, filters: [], cacheDir: deps.cacheDir }
    const reply = await engine.ask({ type: 'describe', plan }, { caller: serviceItself, signal: AbortSignal.timeout(firstLoadMs) })
    if (reply.type !== 'described') return { versions, tables: [] }
    if (performance.now() - startedAt < quickLoadMs) await keep(sources, reply.tables)
    return { versions, tables: reply.tables }
  }

  async function keep(sources: readonly TableSource[], found: readonly TableDescription[]): Promise<void> {
    await kept.keep(sources, found).catch((err: unknown) => deps.log.warn({ err }, 'The descriptions of tables cannot be kept'))
  }

  const startedAt = performance.now()
  let described = await describeAll().catch(async (error: unknown) => {
    await engine.close()
    throw new Error(withoutHostPaths(toBuildFailure(error, paths), [deps.files.path, deps.cacheDir]), { cause: error })
  })

  // There is no query before the tool is built.
  if (performance.now() - startedAt < quickLoadMs) await engine.clear()

  function describe(scope: DataScope): string {
    const visible = described.tables.filter(({ name }) => !tables.isWithheld(name, scope.isWithheld))
    const isRestricted = scope.filters.length > 0 || visible.length < described.tables.length
    return `${spec.description ?? defaultDescription}\n${toTableLines(visible, { values: !isRestricted })}`
  }

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    try {
      const rows = await query(String(input['sql']), context)
      context.log(`${rows.row_count} rows${rows.truncated ? ', more omitted' : ''}.`)
      return { ...rows }
    } catch (error) {
      if (error instanceof QueryFailure && error.table) deps.log.warn({ tool: spec.name, table: error.table }, 'A table cannot be read')
      throw error
    }
  }

  async function query(sql: string, context: ToolContext): Promise<QueryRows> {
    const { sources, withheld } = await tables.find(context.isWithheld)
    // The columns of a changed file may be others. A file that cannot be described fails the query, with a reason.
    const isChanged = withheld.length === 0 && versionsOf(sources) !== described.versions
    if (isChanged) described = await describeAll().catch(() => described)
    const plan: DatabasePlan = { tables: sources, filters: [...context.filters], cacheDir: deps.cacheDir }
    const visible = { tables: sources.map(({ name }) => name), withheld }
    const maxRows = (spec.config['max_rows'] as number | undefined) ?? defaultMaxRows
    const limits = { maxRows, maxCharacters: Math.max(0, spec.maxOutputCharacters - envelopeCharacters) }
    const reply = await engine.ask({ type: 'query', plan, sql, visible, limits }, context)
    if (reply.type !== 'rows') throw new Error('The query engine returned no rows.')
    return reply.rows
  }

  const baseTool = createTool(spec, { description: '', schema, effect: 'read', filters: true, readsFile: tables.reads, execute })
  const tool: DataQueryTool = {
    ...baseTool,
    describe,
    // A getter, because the tables change during the lifetime of the tool.
    get description() {
      return describe({ filters: [], isWithheld: () => false })
    },
  }
  return { tool, close: engine.close }
}

interface DescribedTables {
  /** Versions of all files at the time of the description. */
  versions: string
  tables: TableDescription[]
}

function versionsOf(sources: readonly TableSource[]): string {
  return JSON.stringify(sources.map(({ name, files }) => [name, files]))
}

const defaultDescription = 'Runs one SQL SELECT (DuckDB dialect) over these tables and returns the rows.'

function toBuildFailure(error: unknown, paths: Record<string, string>): string {
  if (error instanceof QueryFailure && error.table) {
    // Only the first line, since further lines quote the file.
    return `The table ${error.table} (${paths[error.table]}) cannot be read: ${error.reason?.split('\n', 1)[0]}`
  }
  return messageOf(error)
}

function withoutHostPaths(text: string, folders: readonly string[]): string {
  return folders.reduce((rest, folder) => rest.replaceAll(`${folder}/`, '').replaceAll(folder, ''), text)
}
