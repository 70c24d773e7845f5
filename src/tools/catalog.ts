import type { ToolListing, ToolSet } from '../agent/tool.ts'
import type { ToolConfig, ToolType } from '../configuration/schema.ts'
import type { ToolBuild, ToolBuilder, ToolDependencies, ToolSpec } from './builder.ts'

/** The tools of a configuration, each of its own fate: one that fails takes no other with it. */
export interface ToolCatalog extends ToolSet {
  /** Resolves when each tool is ready or has failed once. */
  ready(): Promise<void>
}

export interface CatalogOptions {
  /** By tool type. */
  builders?: Readonly<Record<string, BuilderLoader>>
  /** How long to wait before a tool that failed so many times is built again. */
  retryDelayMs?: (failures: number) => number
  /** How long chats wait for tools that are made for the first time. */
  settleMs?: number
}

type BuilderLoader = () => Promise<ToolBuilder>

/** Imported when a configuration names them: mathjs and DuckDB alone would double the time to start. */
const builtIn = {
  calculator: async () => (await import('./calculator/calculator.ts')).createCalculator,
  current_time: async () => (await import('./current-time.ts')).createCurrentTime,
  list_files: async () => (await import('./files/list-files.ts')).createListFiles,
  read_file: async () => (await import('./files/read-file.ts')).createReadFile,
  knowledge_search: async () => (await import('./knowledge/knowledge-search.ts')).createKnowledgeSearch,
  data_query: async () => (await import('./data-query/data-query.ts')).createDataQuery,
} satisfies Record<ToolType, BuilderLoader>

export const knownToolTypes: readonly string[] = Object.keys(builtIn)

const defaultTimeoutSeconds = 30
const defaultMaxOutputCharacters = 20_000
/** A tool that takes longer to make (the index of a large folder) is listed as initializing, and nobody waits for it. */
const defaultSettleMs = 5_000

interface Entry {
  spec: ToolSpec
  type: string
  build?: ToolBuild
  reason?: string
  failures: number
  retry?: NodeJS.Timeout
}

/** Starts building all tools at once and returns; tools that fail are tried again, ever less often. */
export function createToolCatalog(configs: readonly ToolConfig[], deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalog {
  const { builders = builtIn, retryDelayMs = doubling, settleMs = defaultSettleMs } = options
  const log = deps.log.child({ component: 'tools' })
  const entries = configs.map((config): Entry => ({ spec: toSpec(config), type: config.type ?? config.name, failures: 0 }))
  let closed = false

  async function build(entry: Entry): Promise<void> {
    try {
      const load = Object.hasOwn(builders, entry.type) ? (builders as Record<string, BuilderLoader>)[entry.type] : undefined
      if (!load) throw new Error(`There is no tool type ${entry.type}; there are ${Object.keys(builders).join(', ')}.`)
      const built = await (await load())(entry.spec, deps)
      if (closed) return await built.close?.()
      entry.build = built
      if (entry.failures > 0) log.info({ tool: entry.spec.name }, 'A tool that had failed is ready')
    } catch (error) {
      fail(entry, error)
    }
  }

  function fail(entry: Entry, error: unknown): void {
    entry.reason = error instanceof Error && error.message ? error.message : 'The tool can not be made.'
    entry.failures++
    log.warn({ tool: entry.spec.name, reason: entry.reason, failures: entry.failures }, 'A tool can not be used')
    if (closed) return
    // A process that has nothing else to do need not wait for a tool.
    entry.retry = setTimeout(() => void build(entry), retryDelayMs(entry.failures)).unref()
  }

  const first = Promise.all(entries.map(build))
  let settling: Promise<void> | undefined = withinTime(first, settleMs).finally(() => (settling = undefined))

  return {
    list: () => entries.map(toListing),
    settling: () => settling,
    async ready() {
      await first
    },
    async close() {
      closed = true
      for (const entry of entries) clearTimeout(entry.retry)
      // One that is still being built is closed by its builder's end: an index of a large folder must not hold up a shut-down.
      await Promise.all(entries.map(async (entry) => entry.build?.close?.()))
    },
  }
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms).unref()
  await Promise.race([work, late])
  clearTimeout(timer)
}

/** 1, 2, 4 ... seconds, at most a minute. */
function doubling(failures: number): number {
  return Math.min(60_000, 500 * 2 ** failures)
}

function toSpec({ name, description, timeout, max_output_characters, config }: ToolConfig): ToolSpec {
  return {
    name,
    ...(description !== undefined && { description }),
    timeoutMs: (timeout ?? defaultTimeoutSeconds) * 1000,
    maxOutputCharacters: max_output_characters ?? defaultMaxOutputCharacters,
    config: config ?? {},
  }
}

function toListing({ spec, type, build, reason }: Entry): ToolListing {
  if (build) {
    const { tool } = build
    return { name: spec.name, description: tool.description, status: 'ready', schema: tool.schema, tool }
  }
  const unknown = { name: spec.name, description: spec.description ?? `A tool of type ${type}.`, schema: { type: 'object' } }
  return reason === undefined ? { ...unknown, status: 'initializing' } : { ...unknown, status: 'error', reason }
}
