import { marksOf } from '../agent/taint.ts'
import type { Tool, ToolListing, ToolMarks } from '../agent/tool.ts'
import { hideUrlSecrets } from '../configuration/redact.ts'
import type { ToolConfig } from '../configuration/schema.ts'
import { findToolType } from '../configuration/tool-types.ts'
import { toolDefaults, type ToolBuild, type ToolBuilder, type ToolDependencies, type ToolGroup, type ToolSpec } from './builder.ts'

export type BuilderLoader = () => Promise<ToolBuilder>

/** The tools of one entry of `tools` in the configuration. A failed build is retried until it succeeds. */
export interface ToolEntry {
  readonly config: ToolConfig
  /** Resolves when the first build has succeeded or failed. */
  readonly firstBuild: Promise<void>
  /** A single listing until the entry is built, then one listing per tool. */
  listings(): ToolListing[]
  /** Does not wait for a running build, so that indexing a large folder cannot delay a shutdown: the result of that build is closed later. */
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
      const build = await (await load())(spec, { ...deps, signal: closing.signal })
      if (closing.signal.aborted) return await build.close?.()
      built = toGroup(build)
      reason = undefined
      if (failures > 0) deps.log.info({ tool: spec.name }, 'A tool that had failed is ready')
    } catch (error) {
      fail(error)
    }
  }

  function fail(error: unknown): void {
    if (closing.signal.aborted) return
    const earlier = reason
    reason = withoutSecrets(error instanceof Error && error.message ? error.message : 'The tool cannot be built.')
    failures++
    // An unreachable server is retried every minute: the same reason is logged as a warning only once.
    const level = reason === earlier ? 'debug' : 'warn'
    deps.log[level]({ tool: spec.name, reason, failures }, 'A tool cannot be used')
    // `unref`: a retry must not keep an otherwise idle process alive.
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

function toSpec(entry: ToolConfig): ToolSpec {
  const { name, description, timeout, max_output_characters, effect, config } = entry
  return {
    name,
    ...(description !== undefined && { description }),
    timeoutMs: timeout === undefined ? toolDefaults.timeoutMs : timeout * 1000,
    maxOutputCharacters: max_output_characters ?? toolDefaults.maxOutputCharacters,
    ...(effect !== undefined && { effect }),
    marks: toMarks(entry),
    ...(entry.outbound && { isOutbound: true }),
    config: config ?? {},
  }
}

/** A type that the program does not know has the strictest marks. */
function toMarks({ name, type = name, trust, private: isPrivate, outbound }: ToolConfig): ToolMarks {
  const marks = marksOf(findToolType(type) ?? {})
  return { trust: trust ?? marks.trust, private: isPrivate ?? marks.private, outbound: outbound ?? marks.outbound }
}

interface BuildState {
  built: ToolGroup | undefined
  reason: string | undefined
}

function toGroup(build: ToolBuild | ToolGroup): ToolGroup {
  if (!('tool' in build)) return build
  const { tool, close } = build
  return { tools: () => [tool], ...(close && { close: () => close() }) }
}

function toListings(spec: ToolSpec, type: string, { built, reason }: BuildState): ToolListing[] {
  const groupReason = built?.unavailableReason?.()
  const listedReason = groupReason === undefined ? reason : withoutSecrets(groupReason)
  const listed = built ? listGroup(spec.name, built, listedReason) : []
  if (listed.length > 0) return listed
  // An entry without tools is still listed under the name of the entry, because clients wait for the tools.
  const placeholder = { name: spec.name, description: spec.description ?? `A tool of type ${type}.`, schema: { type: 'object' } }
  if (!built && listedReason === undefined) return [{ ...placeholder, status: 'initializing' }]
  return [{ ...placeholder, status: 'error', reason: listedReason ?? 'It has no tools.' }]
}

/** Tools of a server that is unavailable at the moment stay listed, with the reason. */
function listGroup(entry: string, { tools, refused }: ToolGroup, reason: string | undefined): ToolListing[] {
  const entryField = (name: string) => (name === entry ? {} : { entry })
  const usable = tools().map((tool: Tool): ToolListing => {
    const { name, description, schema } = tool
    return reason === undefined
      ? { name, ...entryField(name), description, status: 'ready', schema, tool }
      : { name, ...entryField(name), description, status: 'error', reason, schema }
  })
  return [...usable, ...(refused?.() ?? []).map((tool): ToolListing => ({ ...tool, ...entryField(tool.name), status: 'error' }))]
}

/** Redacts word by word: applied to a whole message, `hideUrlSecrets` would keep a query, because the text after `?` might be prose. */
function withoutSecrets(reason: string): string {
  return reason.replace(/\S+/g, hideUrlSecrets)
}
