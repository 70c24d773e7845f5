import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { isOwnVariable, type Environment } from '../../configuration/references.ts'
import { createCheck, createTool, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import type { WorkerLost } from '../../processes/worker.ts'
import { faultOf } from './definition.ts'
import { markFile, watchFiles, type FileWatch } from './module-files.ts'
import { hashModule } from './module-hash.ts'
import { callModule, startModule, type ModuleDefinition, type ModuleLimits, type ModuleProcess } from './module-process.ts'
import { messageOf } from '../../errors.ts'

type ModuleDependencies = Pick<ToolDependencies, 'configDir' | 'environment' | 'filesHash' | 'log' | 'signal'>

/** A loaded version of the file. */
interface ModuleVersion {
  definition: ModuleDefinition
  tool: Tool
  process: ModuleProcess
}

const defaultLimits: ModuleLimits = { loadMs: 20_000, graceMs: 1_000 }
const firstRetryMs = 2_000
const lastRetryMs = 60_000

/** The tool type `module`: a tool defined by a file of the operator. */
export async function createModule(spec: ToolSpec, deps: ModuleDependencies, limits: Partial<ModuleLimits> = {}): Promise<ToolGroup> {
  const module = new ModuleTool(spec, deps, { ...defaultLimits, ...limits })
  deps.signal?.addEventListener('abort', () => void module.close(), { once: true })
  await module.load()
  return { tools: () => module.tools(), unavailableReason: () => module.loadFault, close: () => module.close() }
}

/**
 * The module is reloaded when the file or a local import changes. When the new version cannot be loaded, the tool is unavailable: results of an
 * outdated version would be confusing. Under a gate, the loaded version stays, and no files are loaded but the accepted ones.
 */
class ModuleTool {
  loadFault: string | undefined
  private readonly spec: ToolSpec
  private readonly deps: ModuleDependencies
  private readonly limits: ModuleLimits
  private readonly file: string
  private readonly log: ModuleDependencies['log']
  private version: ModuleVersion | undefined
  private failures = 0
  private retry: NodeJS.Timeout | undefined
  private watch: FileWatch | undefined
  private starting: ModuleProcess | undefined
  private reviving: Promise<void> | undefined
  private isClosed = false

  constructor(spec: ToolSpec, deps: ModuleDependencies, limits: ModuleLimits) {
    this.spec = spec
    this.deps = deps
    this.limits = limits
    this.file = path.resolve(deps.configDir, String(spec.config['path']))
    this.log = deps.log.child({ tool: spec.name })
  }

  tools(): Tool[] {
    return this.version ? [this.version.tool] : []
  }

  /** Loads the file. A load that is superseded by a newer load has no effect. */
  async load(): Promise<void> {
    if (this.isClosed) return
    clearTimeout(this.retry)
    this.watch?.close()
    void this.starting?.end('closed', 'the file has changed')
    const watch = watchFiles(() => void this.follow())
    this.watch = watch
    const mark = markFile(this.file)
    watch.add([mark])
    if (mark.mark === 'missing') return this.fail(`there is no file ${String(this.spec.config['path'])}`)
    try {
      await this.refuseOtherFiles()
      if (this.watch !== watch) return
      const process = this.start(watch)
      this.starting = process
      const definition = await process.ready
      await this.refuseOtherFiles()
      void process.gone.then((loss) => this.logCrash(loss))
      if (this.watch === watch) this.use(this.toVersion(definition, process))
    } catch (error) {
      if (this.watch === watch && !this.isClosed) this.fail(messageOf(error))
    } finally {
      if (this.watch === watch) this.starting = undefined
    }
  }

  private async follow(): Promise<void> {
    if (this.deps.filesHash === undefined || !this.version?.process.isAlive) await this.load()
  }

  private async refuseOtherFiles(): Promise<void> {
    const { filesHash, configDir } = this.deps
    if (filesHash === undefined || (await hashModule(configDir, String(this.spec.config['path']))) === filesHash) return
    throw new Error('the files have changed, and the change has not passed the gate (releases.gate)')
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.retry)
    this.watch?.close()
    await Promise.all([this.starting, this.version?.process].map(async (process) => process?.end('closed', 'the service stops')))
  }

  private start(watch: FileWatch): ModuleProcess {
    const { log } = this
    return startModule({
      path: this.file,
      cwd: this.deps.configDir,
      env: withoutServiceVariables(this.deps.environment),
      limits: this.limits,
      onFiles: (files) => watch.add(files),
      onOutput: (line, isError) => (isError ? log.warn({ line }, 'A module wrote') : log.info({ line }, 'A module wrote')),
    })
  }

  private logCrash({ reason, message }: WorkerLost): void {
    if (reason === 'fault') this.log.warn({ reason: message }, 'A module failed outside of a call')
  }

  private toVersion(definition: ModuleDefinition, process: ModuleProcess): ModuleVersion {
    const execute = (input: JsonObject, context: ToolContext) => this.call(definition, input, context)
    try {
      // Compiled at once: the schema is the operator's, and a fault is reported when the module is loaded.
      const check = createCheck(definition.schema)
      return { definition, process, tool: { ...createTool(this.spec, { ...definition, execute }), check } }
    } catch (error) {
      void process.end('closed', 'its schema is wrong')
      throw faultOf(this.file, 'schema', `schema is not a JSON Schema: ${messageOf(error)}`)
    }
  }

  private use(next: ModuleVersion): void {
    if (this.version) this.log.info('A module was reloaded')
    this.version?.process.retire()
    this.version = next
    this.loadFault = undefined
    this.failures = 0
  }

  /** Schedules a retry: the reason may lie outside the file, for example in a database that the module queries while loading. */
  private fail(message: string): void {
    const name = path.basename(this.file)
    const reason = message.startsWith(name) ? message : `${name}: ${message}`
    if (reason !== this.loadFault) this.log.warn({ reason }, 'A module cannot be loaded')
    this.loadFault = reason
    this.version?.process.retire()
    this.retry = setTimeout(() => void this.load(), Math.min(lastRetryMs, firstRetryMs * 2 ** this.failures++)).unref()
  }

  /** Calls the current version. A run keeps its tools: the call is refused when the definition has changed since the run began. */
  private async call(expected: ModuleDefinition, input: JsonObject, context: ToolContext): Promise<JsonValue> {
    if (!this.loadFault && !this.version?.process.isAlive) {
      await (this.reviving ??= this.load().finally(() => (this.reviving = undefined)))
    }
    const { version, loadFault } = this
    if (loadFault || !version) throw new Error(`The tool cannot be used: ${loadFault ?? 'it is closed'}`)
    if (!isDeepStrictEqual(version.definition, expected)) {
      throw new Error('The tool was changed during this run; the new version can be used in the next run.')
    }
    // The run was admitted while the tool still supported filters.
    if (context.filters.length > 0 && !version.definition.filters) throw new Error('The tool cannot be used with data filters.')
    return callModule(version.process, input, context, this.limits.graceMs)
  }
}

/** The variables of the operator, for the operator's own code, without the variables and secrets of the service. */
function withoutServiceVariables(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(([name, value]) => value !== undefined && !isOwnVariable(name))
  return Object.fromEntries(entries) as Record<string, string>
}
