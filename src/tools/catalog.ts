import { isDeepStrictEqual } from 'node:util'
import type { ToolSet } from '../agent/tool.ts'
import type { ToolConfig, ToolType } from '../configuration/schema.ts'
import type { ToolDependencies } from './builder.ts'
import { createToolEntry, type BuilderLoader, type EntryOptions, type ToolEntry } from './entry.ts'

/** The tools of a configuration, each of its own fate: one that fails takes no other with it. */
export interface ToolCatalog extends ToolSet {
  /** Resolves when each tool is ready or has failed once. */
  ready(): Promise<void>
}

/** Catalogs of one configuration after the other. */
export interface ToolCatalogs {
  /** Starts building all tools at once and returns. A tool whose entry an open catalog has just so is taken over as it is. */
  open(configs: readonly ToolConfig[]): ToolCatalog
}

export interface CatalogOptions {
  /** By tool type. */
  builders?: EntryOptions['builders']
  /** How long to wait before a tool that failed so many times is built again. */
  retryDelayMs?: EntryOptions['retryDelayMs']
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
} satisfies Record<ToolType, BuilderLoader>

export const knownToolTypes: readonly string[] = Object.keys(builtIn)

/** A tool that takes longer to make (the index of a large folder) is listed as initializing, and nobody waits for it. */
const defaultSettleMs = 5_000

/** The catalog of a configuration that no other follows. */
export function createToolCatalog(configs: readonly ToolConfig[], deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalog {
  return createToolCatalogs(deps, options).open(configs)
}

export function createToolCatalogs(deps: ToolDependencies, options: CatalogOptions = {}): ToolCatalogs {
  const { builders = builtIn, retryDelayMs = doubling, settleMs = defaultSettleMs } = options
  const own = { ...deps, log: deps.log.child({ component: 'tools' }) }
  /** How many open catalogs have each. */
  const users = new Map<ToolEntry, number>()

  function take(config: ToolConfig): ToolEntry {
    const known = [...users.keys()].find((entry) => isDeepStrictEqual(entry.config, config))
    const entry = known ?? createToolEntry(config, own, { builders, retryDelayMs })
    users.set(entry, (users.get(entry) ?? 0) + 1)
    return entry
  }

  async function release(entry: ToolEntry): Promise<void> {
    const left = (users.get(entry) ?? 0) - 1
    if (left > 0) return void users.set(entry, left)
    users.delete(entry)
    await entry.close()
  }

  function open(configs: readonly ToolConfig[]): ToolCatalog {
    const entries = configs.map(take)
    const first = Promise.all(entries.map((entry) => entry.first))
    let settling: Promise<void> | undefined = withinTime(first, settleMs).finally(() => (settling = undefined))
    let isOpen = true
    return {
      list: () => entries.map((entry) => entry.listing()),
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
