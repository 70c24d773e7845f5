import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { isOwnVariable, type Environment } from '../../configuration/references.ts'
import { createTool, type ToolDependencies, type ToolGroup, type ToolSpec } from '../builder.ts'
import { faultOf } from './definition.ts'
import { markFile } from './file-mark.ts'
import type { Definition } from './messages.ts'
import { defaultLimits, startModule, type ModuleLimits, type ModuleProcess } from './module-process.ts'
import { watchFiles, type FileWatch } from './watch-files.ts'
import { messageOf } from '../../errors.ts'

type Dependencies = Pick<ToolDependencies, 'configDir' | 'environment' | 'log' | 'signal'>

/** What a file was when it was loaded. */
interface Version {
  definition: Definition
  tool: Tool
  process: ModuleProcess
}

const firstRetryMs = 2_000
const lastRetryMs = 60_000

/**
 * The tool that a file of the operator's is. It is loaded anew when the file, or a local one that it imports, changes. A change that can't be
 * loaded is told as trouble, and what was before it is not used any more: nobody should wonder whose answers these are.
 */
export async function createModule(spec: ToolSpec, deps: Dependencies, limits: Partial<ModuleLimits> = {}): Promise<ToolGroup> {
  const file = path.resolve(deps.configDir, String(spec.config['path']))
  const env = withoutOwn(deps.environment)
  const log = deps.log.child({ tool: spec.name })
  let version: Version | undefined
  let trouble: string | undefined
  let failures = 0
  let retry: NodeJS.Timeout | undefined
  let watching: FileWatch | undefined
  let starting: ModuleProcess | undefined
  let reviving: Promise<void> | undefined
  let isClosed = false

  /** One that is overtaken by another ends without a trace. */
  async function load(): Promise<void> {
    if (isClosed) return
    clearTimeout(retry)
    watching?.close()
    void starting?.end('the file has changed')
    const watch = watchFiles(() => void load())
    watching = watch
    const found = markFile(file)
    watch.add([found])
    if (found.mark === 'missing') return fail(`there is no file ${String(spec.config['path'])}`)
    try {
      const started = start(watch)
      starting = started
      const definition = await started.loaded
      if (watching === watch) use(toVersion(definition, started))
    } catch (error) {
      if (watching === watch && !isClosed) fail(messageOf(error))
    } finally {
      if (watching === watch) starting = undefined
    }
  }

  function start(watch: FileWatch): ModuleProcess {
    return startModule({
      ...{ path: file, cwd: deps.configDir, env, limits: { ...defaultLimits, ...limits } },
      onFiles: (files) => watch.add(files),
      onOutput: (line, isError) => (isError ? log.warn({ line }, 'A module wrote') : log.info({ line }, 'A module wrote')),
      onCrash: (message) => log.warn({ reason: message }, 'A module failed outside of a call'),
    })
  }

  function toVersion(definition: Definition, process: ModuleProcess): Version {
    const execute = (input: JsonObject, context: ToolContext) => call(definition, input, context)
    try {
      return { definition, process, tool: createTool(spec, { ...definition, execute }) }
    } catch (error) {
      void process.end('its schema is wrong')
      throw faultOf(file, 'schema', `schema is no JSON Schema: ${messageOf(error)}`)
    }
  }

  function use(next: Version): void {
    if (version) log.info('A module was loaded anew')
    version?.process.retire()
    version = next
    trouble = undefined
    failures = 0
  }

  /** Not only the file may be the reason: a module that asks a database while it loads is tried again. */
  function fail(message: string): void {
    const reason = message.startsWith(path.basename(file)) ? message : `${path.basename(file)}: ${message}`
    if (reason !== trouble) log.warn({ reason }, 'A module can not be loaded')
    trouble = reason
    version?.process.retire()
    retry = setTimeout(() => void load(), Math.min(lastRetryMs, firstRetryMs * 2 ** failures++)).unref()
  }

  /** A run keeps the tools that it began with: one that was told of something else must not do what it did not ask for. */
  async function call(asked: Definition, input: JsonObject, context: ToolContext): Promise<JsonValue> {
    if (!trouble && !version?.process.isUsable()) await (reviving ??= load().finally(() => (reviving = undefined)))
    if (trouble || !version) throw new Error(`The tool can not be used: ${trouble ?? 'it is closed'}`)
    if (!isDeepStrictEqual(version.definition, asked)) {
      throw new Error('The tool was changed while this run was under way; what it is now can be used from the next one on.')
    }
    // The run was let in when the tool still filtered.
    if (context.filters.length > 0 && !version.definition.filters) throw new Error('The tool can not be used where its data is filtered.')
    return version.process.call(input, context)
  }

  async function close(): Promise<void> {
    isClosed = true
    clearTimeout(retry)
    watching?.close()
    await Promise.all([starting?.end('the service stops'), version?.process.end('the service stops')])
  }

  deps.signal?.addEventListener('abort', () => void close(), { once: true })
  await load()
  return { tools: () => (version ? [version.tool] : []), unavailableReason: () => trouble, close }
}

/** The module is the operator's own code, and gets the operator's variables; the service's secrets are no business of a tool. */
function withoutOwn(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(([name, value]) => value !== undefined && !isOwnVariable(name))
  return Object.fromEntries(entries) as Record<string, string>
}
