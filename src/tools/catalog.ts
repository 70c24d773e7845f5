import type { Tool, ToolListing, ToolSet } from '../agent/tool.ts'
import { toStableJson } from '../configuration/parse.ts'
import type { AgentConfig, ToolConfig } from '../configuration/schema.ts'
import type { ToolType } from '../configuration/tool-types.ts'
import type { ToolDependencies } from './builder.ts'
import { createToolSearch } from './tool-index.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import { createToolEntry, type BuilderLoader, type ToolEntryOptions, type ToolEntry } from './entry.ts'

/** The tools of a configuration, each of its own fate: one that fails takes no other with it. */
export interface ToolCatalog extends ToolSet {
  /** Resolves when each tool is ready or has failed once. */
  ready(): Promise<void>
}

/** Catalogs of one configuration after the other. */
export interface ToolCatalogs {
  /** Starts building all tools at once and returns. A tool whose entry an open catalog has just so is taken over as it is. */
  open(configs: readonly ToolConfig[], approvals?: AgentConfig['approvals']): ToolCatalog
}

export interface CatalogOptions {
  /** By tool type. */
  builders?: ToolEntryOptions['builders']
  /** How long to wait before a tool that failed so many times is built again. */
  retryDelayMs?: ToolEntryOptions['retryDelayMs']
  /** How long chats wait for tools that are made for the first time. */
  settleMs?: number
}

/** Imported when a configuration names them: mathjs and DuckDB alone would double the time to start. */
const builtIn = {
  calculator: async () => (await import('./calculator/calculator.ts')).createCalculator,
  current_time: async () => (await import('./current-time.ts')).createCurrentTime,
  list_files: async () => (await import('./files/list-files.ts')).createListFiles,
  read_file: async () => (await import('./files/read-file.ts')).createReadFile,
  write_file: async () => (await import('./files/write-file.ts')).createWriteFile,
  knowledge_search: async () => (await import('./knowledge/knowledge-search.ts')).createKnowledgeSearch,
  data_query: async () => (await import('./data-query/data-query.ts')).createDataQuery,
  mcp: async () => (await import('./mcp/mcp.ts')).createMcp,
  openapi: async () => (await import('./openapi/openapi.ts')).createOpenApi,
  module: async () => (await import('./module/module.ts')).createModule,
  run_python: async () => (await import('./python/run-python.ts')).createRunPython,
  chart: async () => (await import('./chart/chart.ts')).createChart,
  web_page: async () => (await import('./web/web-page.ts')).createWebPage,
  http_request: async () => (await import('./web/http-request.ts')).createHttpRequest,
} satisfies Record<ToolType, BuilderLoader>

export const knownToolTypes: readonly string[] = Object.keys(builtIn)

/** A tool that takes longer to make (the index of a large folder) is listed as initializing, and nobody waits for it. */
const defaultSettleMs = 5_000

type CatalogConfig = Pick<AgentConfig, 'tools'> & Partial<Pick<AgentConfig, 'approvals'>>

/** The catalog of a configuration that no other follows. */
export function createToolCatalog({ tools, approvals }: CatalogConfig, deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalog {
  return createToolCatalogs(deps, options).open(tools, approvals)
}

export function createToolCatalogs(deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalogs {
  const { builders = builtIn, retryDelayMs = doubling, settleMs = defaultSettleMs } = options
  const own = { ...deps, log: deps.log.child({ component: 'tools' }) }
  /** The entries that are open, by what they are made of, each with the number of catalogs that have it. */
  const openEntries = new Map<string, { entry: ToolEntry; users: number }>()

  function take(config: ToolConfig): ToolEntry {
    const key = keyOf(config)
    const shared = openEntries.get(key) ?? { entry: createToolEntry(config, own, { builders, retryDelayMs }), users: 0 }
    shared.users++
    openEntries.set(key, shared)
    return shared.entry
  }

  async function release(entry: ToolEntry): Promise<void> {
    const key = keyOf(entry.config)
    const shared = openEntries.get(key)
    if (!shared || --shared.users > 0) return
    openEntries.delete(key)
    await entry.close()
  }

  function open(configs: readonly ToolConfig[], approvals?: AgentConfig['approvals']): ToolCatalog {
    const gate = createGate(approvals)
    const search = createToolSearch()
    const entries = configs.map(take)
    // The entry may be carried over from a configuration that said otherwise of approvals.
    const list = () => entries.flatMap((entry, index) => entry.listings().map((listing) => gate(listing, configs[index]!)))
    const first = Promise.all(entries.map((entry) => entry.firstBuild))
    let settling: Promise<void> | undefined = settlesWithin(first, settleMs).then(() => (settling = undefined))
    let isOpen = true
    return {
      list: () => withoutDoubles(list()),
      search,
      settling: () => settling,
      async ready() {
        await first
      },
      async close() {
        if (!isOpen) return
        isOpen = false
        await Promise.all(entries.map(release))
      },
    }
  }

  return { open }
}

/** Names what an entry is made of: who must approve of its calls is put onto its tools from outside. */
function keyOf(config: ToolConfig): string {
  const { approval: _approval, by: _by, ...made } = config
  return toStableJson(made)
}

/** 1, 2, 4 ... seconds, at most a minute. */
function doubling(failures: number): number {
  return Math.min(60_000, 500 * 2 ** failures)
}

/** Puts onto each tool whose approval it needs, by its entry and by the rules for all. */
function createGate(approvals: AgentConfig['approvals'] | undefined) {
  /** Two configurations may say different things of one tool: it is never changed itself. */
  const gated = new WeakMap<Tool, Tool>()

  return (listing: ToolListing, entry: ToolConfig): ToolListing => {
    const { tool } = listing
    const isGated = tool && (entry.approval === undefined ? approvals?.effects.includes(tool.effect) : entry.approval === 'required')
    if (!tool || !isGated) return listing
    const known = gated.get(tool) ?? { ...tool, approval: { by: entry.by ?? approvals?.by ?? 'caller' } }
    gated.set(tool, known)
    return { ...listing, tool: known }
  }
}

/** A server may name a tool as another entry is named: the first has the name. */
function withoutDoubles(listings: readonly ToolListing[]): ToolListing[] {
  const names = new Set<string>()
  return listings.filter(({ name }) => !names.has(name) && names.add(name))
}
