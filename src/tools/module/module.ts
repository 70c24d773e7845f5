import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { isOwnVariable, type Environment } from '../../configuration/references.ts'
import { createCheck, createTool, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import type { WorkerLost } from '../../processes/worker.ts'
import { faultOf } from './definition.ts'
import { markFile, watchFiles, type FileWatch } from './module-files.ts'
import { callModule, startModule, type ModuleDefinition, type ModuleLimits, type ModuleProcess } from './module-process.ts'
import { messageOf } from '../../errors.ts'

type ModuleDependencies = Pick<ToolDependencies, 'configDir' | 'environment' | 'log' | 'signal'>

/** A loaded version of the file. */
interface ModuleVersion {
  definition: ModuleDefinition
  tool: Tool
  process: ModuleProcess
}

const defaultLimits: ModuleLimits = { loadMs: 20_000, graceMs: 1_000 }
const firstRetryMs = 2_000
const lastRetryMs = 60_000

/**
 * The tool type `module`: a tool defined by a file of the operator. The module is reloaded when the file or a local import changes. When
 * the new version cannot be loaded, the tool is unavailable: results of an outdated version would be confusing.
 */
export async function createModule(spec: ToolSpec, deps: ModuleDependencies, overrides: Partial<ModuleLimits> = {}): Promise<ToolGroup> {
  const limits = { ...defaultLimits, ...overrides }
  const file = path.resolve(deps.configDir, String(spec.config['path']))
  const env = withoutServiceVariables(deps.environment)
  const log = deps.log.child({ tool: spec.name })
  let version: ModuleVersion | undefined
  let loadFault: string | undefined
  let failures = 0
  let retry: NodeJS.Timeout | undefined
  let currentWatch: FileWatch | undefined
  let starting: ModuleProcess | undefined
  let reviving: Promise<void> | undefined
  let isClosed = false

  /** Loads the file. A load that is superseded by a newer load has no effect. */
  async function load(): Promise<void> {
    if (isClosed) return
    clearTimeout(retry)
    currentWatch?.close()
    void starting?.end('closed', 'the file has changed')
    const watch = watchFiles(() => void load())
    currentWatch = watch
    const mark = markFile(file)
    watch.add([mark])
    if (mark.mark === 'missing') return fail(`there is no file ${String(spec.config['path'])}`)
    try {
      const started = start(watch)
      starting = started
      const definition = await started.ready
      void started.gone.then(logCrash)
      if (currentWatch === watch) use(toVersion(definition, started))
    } catch (error) {
      if (currentWatch === watch && !isClosed) fail(messageOf(error))
    } finally {
      if (currentWatch === watch) starting = undefined
    }
  }

  function start(watch: FileWatch): ModuleProcess {
    return startModule({
      path: file,
      cwd: deps.configDir,
      env,
      limits,
      onFiles: (files) => watch.add(files),
      onOutput: (line, isError) => (isError ? log.warn({ line }, 'A module wrote') : log.info({ line }, 'A module wrote')),
    })
  }

  function logCrash({ reason, message }: WorkerLost): void {
    if (reason === 'fault') log.warn({ reason: message }, 'A module failed outside of a call')
  }

  function toVersion(definition: ModuleDefinition, process: ModuleProcess): ModuleVersion {
    const execute = (input: JsonObject, context: ToolContext) => call(definition, input, context)
    try {
      // Compiled at once: the schema is the operator's, and a fault is reported when the module is loaded.
      const check = createCheck(definition.schema)
      return { definition, process, tool: { ...createTool(spec, { ...definition, execute }), check } }
    } catch (error) {
      void process.end('closed', 'its schema is wrong')
      throw faultOf(file, 'schema', `schema is not a JSON Schema: ${messageOf(error)}`)
    }
  }

  function use(next: ModuleVersion): void {
    if (version) log.info('A module was reloaded')
    version?.process.retire()
    version = next
    loadFault = undefined
    failures = 0
  }

  /** Schedules a retry: the reason may lie outside the file, for example in a database that the module queries while loading. */
  function fail(message: string): void {
    const reason = message.startsWith(path.basename(file)) ? message : `${path.basename(file)}: ${message}`
    if (reason !== loadFault) log.warn({ reason }, 'A module cannot be loaded')
    loadFault = reason
    version?.process.retire()
    retry = setTimeout(() => void load(), Math.min(lastRetryMs, firstRetryMs * 2 ** failures++)).unref()
  }

  /** Calls the current version. A run keeps its tools: the call is refused when the definition has changed since the run began. */
  async function call(expected: ModuleDefinition, input: JsonObject, context: ToolContext): Promise<JsonValue> {
    if (!loadFault && !version?.process.isAlive) await (reviving ??= load().finally(() => (reviving = undefined)))
    if (loadFault || !version) throw new Error(`The tool cannot be used: ${loadFault ?? 'it is closed'}`)
    if (!isDeepStrictEqual(version.definition, expected)) {
      throw new Error('The tool was changed during this run; the new version can be used in the next run.')
    }
    // The run was admitted while the tool still supported filters.
    if (context.filters.length > 0 && !version.definition.filters) throw new Error('The tool cannot be used with data filters.')
    return callModule(version.process, input, context, limits.graceMs)
  }

  async function close(): Promise<void> {
    isClosed = true
    clearTimeout(retry)
    currentWatch?.close()
    await Promise.all([starting, version?.process].map(async (process) => process?.end('closed', 'the service stops')))
  }

  deps.signal?.addEventListener('abort', () => void close(), { once: true })
  await load()
  return { tools: () => (version ? [version.tool] : []), unavailableReason: () => loadFault, close }
}

/** The variables of the operator, for the operator's own code, without the variables and secrets of the service. */
function withoutServiceVariables(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(([name, value]) => value !== undefined && !isOwnVariable(name))
  return Object.fromEntries(entries) as Record<string, string>
}
