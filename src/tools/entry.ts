import type { Tool, ToolListing } from '../agent/tool.ts'
import { hideUrlSecrets } from '../configuration/redact.ts'
import type { ToolConfig } from '../configuration/schema.ts'
import { toolDefaults, type ToolBuild, type ToolBuilder, type ToolGroup, type ToolDependencies, type ToolSpec } from './builder.ts'

export type BuilderLoader = () => Promise<ToolBuilder>

/** One entry of `tools` in the configuration: tools on their way to be ready, which are built again where that failed. */
export interface ToolEntry {
  readonly config: ToolConfig
  /** Resolves when it is ready or has failed once. */
  readonly firstBuild: Promise<void>
  /** One listing until it is built; then one for each of its tools. */
  listings(): ToolListing[]
  /** One that is still being built is closed by its builder's end: an index of a large folder must not hold up a shut-down. */
  close(): Promise<void>
}

export interface ToolEntryOptions {
  builders: Readonly<Record<string, BuilderLoader>>
  retryDelayMs(failures: number): number
}

export function createToolEntry(config: ToolConfig, deps: ToolDependencies, { builders, retryDelayMs }: ToolEntryOptions): ToolEntry {
  const spec = toSpec(config)
  const type = config.type ?? config.name
  let built: ToolGroup | undefined
  let reason: string | undefined
  let failures = 0
  let retry: NodeJS.Timeout | undefined
  const closing = new AbortController()

  async function build(): Promise<void> {
    try {
      const load = Object.hasOwn(builders, type) ? builders[type] : undefined
      if (!load) throw new Error(`There is no tool type ${type}; there are ${Object.keys(builders).join(', ')}.`)
      const made = await (await load())(spec, { ...deps, signal: closing.signal })
      if (closing.signal.aborted) return await made.close?.()
      built = toGroup(made)
      reason = undefined
      if (failures > 0) deps.log.info({ tool: spec.name }, 'A tool that had failed is ready')
    } catch (error) {
      fail(error)
    }
  }

  function fail(error: unknown): void {
    if (closing.signal.aborted) return
    const earlier = reason
    reason = withoutSecrets(error instanceof Error && error.message ? error.message : 'The tool can not be made.')
    failures++
    // A server that stays away is tried again every minute: told once is enough.
    const level = reason === earlier ? 'debug' : 'warn'
    deps.log[level]({ tool: spec.name, reason, failures }, 'A tool can not be used')
    // A process that has nothing else to do need not wait for a tool.
    retry = setTimeout(() => void build(), retryDelayMs(failures)).unref()
  }

  return {
    config,
    firstBuild: build(),
    listings: () => toListings(spec, type, { built, reason }),
    async close() {
      closing.abort()
      clearTimeout(retry)
      await built?.close?.()
    },
  }
}

function toSpec({ name, description, timeout, max_output_characters, effect, config }: ToolConfig): ToolSpec {
  return {
    name,
    ...(description !== undefined && { description }),
    timeoutMs: timeout === undefined ? toolDefaults.timeoutMs : timeout * 1000,
    maxOutputCharacters: max_output_characters ?? toolDefaults.maxOutputCharacters,
    ...(effect !== undefined && { effect }),
    config: config ?? {},
  }
}

interface State {
  built: ToolGroup | undefined
  reason: string | undefined
}

function toGroup(made: ToolBuild | ToolGroup): ToolGroup {
  if (!('tool' in made)) return made
  const { tool, close } = made
  return { tools: () => [tool], ...(close && { close: () => close() }) }
}

function toListings(spec: ToolSpec, type: string, { built, reason }: State): ToolListing[] {
  const trouble = built?.unavailableReason?.()
  const why = trouble === undefined ? reason : withoutSecrets(trouble)
  const listed = built ? listGroup(spec.name, built, why) : []
  if (listed.length > 0) return listed
  // What has nothing to list but its name must not vanish: somebody waits for its tools.
  const unknown = { name: spec.name, description: spec.description ?? `A tool of type ${type}.`, schema: { type: 'object' } }
  if (!built && why === undefined) return [{ ...unknown, status: 'initializing' }]
  return [{ ...unknown, status: 'error', reason: why ?? 'It has no tools.' }]
}

/** What was known once stays listed while it can't be used. */
function listGroup(entry: string, { tools, refused }: ToolGroup, reason: string | undefined): ToolListing[] {
  const own = (name: string) => (name === entry ? {} : { entry })
  const usable = tools().map((tool: Tool): ToolListing => {
    const { name, description, schema } = tool
    return reason === undefined
      ? { name, ...own(name), description, status: 'ready', schema, tool }
      : { name, ...own(name), description, status: 'error', reason, schema }
  })
  return [...usable, ...(refused?.() ?? []).map((one): ToolListing => ({ ...one, ...own(one.name), status: 'error' }))]
}

/** Word by word: in what a library says of an address the query stays, because it might be prose. */
function withoutSecrets(reason: string): string {
  return reason.replace(/\S+/g, hideUrlSecrets)
}
