import type { Tool, ToolListing, ToolSet } from '../agent/tool.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import { toStableJson } from '../configuration/parse.ts'
import type { AgentConfig, ToolConfig } from '../configuration/schema.ts'
import { moduleKey } from '../configuration/skills/pins.ts'
import type { ModuleHashes } from '../configuration/skills/skill.ts'
import type { ToolType } from '../configuration/tool-types.ts'
import type { ToolDependencies } from './builder.ts'
import { createToolEntry, type BuilderLoader, type ToolEntry, type ToolEntryOptions } from './entry.ts'
import { createToolFinder, createToolSearch } from './tool-index.ts'

/** The tools of a configuration. Entries are built independently: a failed entry does not affect the others. */
export interface ToolCatalog extends ToolSet {
  /** Resolves when each entry is ready or has failed once. */
  ready(): Promise<void>
}

/** Opens a catalog for each version of the configuration, and shares unchanged entries between catalogs. */
export interface ToolCatalogs {
  /**
   * Starts building all entries in parallel and returns at once. An entry that an open catalog holds unchanged is reused. `isTrial`: the
   * configuration is tried out and not in use, so that the definitions of its servers' tools are compared with the pins and not stored.
   */
  open(configs: readonly ToolConfig[], approvals?: AgentConfig['approvals'], options?: OpenOptions): ToolCatalog
}

interface OpenOptions {
  isTrial?: boolean
  /** The pinned files of modules. */
  modules?: ModuleHashes
}

export interface CatalogOptions {
  /** Builder loaders by tool type. */
  builders?: ToolEntryOptions['builders']
  /** Milliseconds before the next build after this many failures. */
  retryDelayMs?: ToolEntryOptions['retryDelayMs']
  /** Milliseconds that chats wait for the first build of the tools. */
  settleMs?: number
}

/** Tool modules are imported when a configuration names their type: mathjs and DuckDB alone would double the start time. */
const builtIn = {
  calculator: async () => (await import('./calculator/calculator.ts')).createCalculator,
  current_time: async () => (await import('./current-time.ts')).createCurrentTime,
  list_files: async () => (await import('./files/files.ts')).createListFiles,
  read_file: async () => (await import('./files/files.ts')).createReadFile,
  write_file: async () => (await import('./files/files.ts')).createWriteFile,
  knowledge_search: async () => (await import('./knowledge/knowledge-search.ts')).createKnowledgeSearch,
  data_query: async () => (await import('./data-query/data-query.ts')).createDataQuery,
  mcp: async () => (await import('./mcp/mcp.ts')).createMcp,
  openapi: async () => (await import('./openapi/openapi.ts')).createOpenApi,
  module: async () => (await import('./module/module.ts')).createModule,
  run_python: async () => (await import('./python/run-python.ts')).createRunPython,
  chart: async () => (await import('./chart/chart.ts')).createChart,
  web_page: async () => (await import('./web/web-page.ts')).createWebPage,
  provider: async () => (await import('./provider.ts')).createProviderTool,
  http_request: async () => (await import('./web/http-request.ts')).createHttpRequest,
} satisfies Record<ToolType, BuilderLoader>

export const knownToolTypes: readonly string[] = Object.keys(builtIn)

/** A tool that takes longer to build (the index of a large folder) is listed as `initializing`, and chats start without the tool. */
const defaultSettleMs = 5_000

type CatalogConfig = Pick<AgentConfig, 'tools'> & Partial<Pick<AgentConfig, 'approvals'>>

/** A catalog of a single configuration. */
export function createToolCatalog({ tools, approvals }: CatalogConfig, deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalog {
  return createToolCatalogs(deps, options).open(tools, approvals)
}

export function createToolCatalogs(deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalogs {
  const { builders = builtIn, retryDelayMs = doublingDelayMs, settleMs = defaultSettleMs } = options
  const entryDeps = { ...deps, log: deps.log.child({ component: 'tools' }) }
  const trialDeps = { ...entryDeps, pins: { ...deps.pins, save: async () => true } }
  /** Open entries by `keyOf` of the configuration, each with the number of catalogs using the entry. Entries of trials have keys of their own. */
  const openEntries = new Map<string, { entry: ToolEntry; users: number }>()
  const keys = new WeakMap<ToolEntry, string>()

  function acquire(config: ToolConfig, { isTrial = false, modules }: OpenOptions): ToolEntry {
    const filesHash = modules?.[moduleKey(config.name)]
    const known = filesHash === undefined ? keyOf(config) : `${keyOf(config)} ${filesHash}`
    const isOwn = isTrial && !openEntries.has(known)
    const key = isOwn ? `trial ${known}` : known
    const shared = openEntries.get(key) ?? {
      entry: createToolEntry(config, { ...(isOwn ? trialDeps : entryDeps), filesHash }, { builders, retryDelayMs }),
      users: 0,
    }
    shared.users++
    openEntries.set(key, shared)
    keys.set(shared.entry, key)
    return shared.entry
  }

  async function release(entry: ToolEntry): Promise<void> {
    const key = keys.get(entry)!
    const shared = openEntries.get(key)
    if (!shared || --shared.users > 0) return
    openEntries.delete(key)
    await entry.close()
  }

  function open(configs: readonly ToolConfig[], approvals?: AgentConfig['approvals'], options: OpenOptions = {}): ToolCatalog {
    // Approvals are applied per catalog: a reused entry may come from a configuration with other approval rules.
    const gate = createGate(approvals)
    const search = createToolSearch()
    const finder = createToolFinder(deps.search)
    const entries = configs.map((config) => acquire(config, options))
    const firstBuilds = Promise.all(entries.map((entry) => entry.firstBuild))
    let settling: Promise<void> | undefined = settlesWithin(firstBuilds, settleMs).then(() => (settling = undefined))
    let isOpen = true
    return {
      list() {
        // The first listing of a name counts: a server may give a tool the name of another entry.
        const names = new Set<string>()
        const listings = entries.flatMap((entry, index) => entry.listings().map((listing) => gate(listing, configs[index]!)))
        return listings.filter(({ name }) => !names.has(name) && names.add(name))
      },
      search,
      find: finder.find,
      settling: () => settling,
      async ready() {
        await firstBuilds
      },
      async close() {
        if (!isOpen) return
        isOpen = false
        await Promise.all([...entries.map(release), finder.close()])
      },
    }
  }

  return { open }
}

/** Identifies an entry by its configuration without the approval settings, which each catalog applies itself (`createGate`). */
function keyOf(config: ToolConfig): string {
  const { approval: _approval, by: _by, ...buildConfig } = config
  return toStableJson(buildConfig)
}

/** Delay in milliseconds: 1, 2, 4 ... seconds, at most a minute. */
function doublingDelayMs(failures: number): number {
  return Math.min(60_000, 500 * 2 ** failures)
}

/** Adds the required approval to each tool, by the settings of its entry and by the rules of the configuration. */
function createGate(approvals: AgentConfig['approvals'] | undefined) {
  /** Gated copies by tool. The tool itself is never changed, because another catalog may share the tool under other rules. */
  const gated = new WeakMap<Tool, Tool>()

  return (listing: ToolListing, entry: ToolConfig): ToolListing => {
    const { tool } = listing
    const isGated = tool && (entry.approval === undefined ? approvals?.effects.includes(tool.effect) : entry.approval === 'required')
    const by = entry.by ?? approvals?.by ?? 'caller'
    if (!tool || !(isGated || (by !== 'caller' && !('provider' in tool)))) return listing
    const gatedTool = gated.get(tool) ?? { ...tool, decider: by, ...(isGated && { approval: { by } }) }
    gated.set(tool, gatedTool)
    return { ...listing, tool: gatedTool }
  }
}
