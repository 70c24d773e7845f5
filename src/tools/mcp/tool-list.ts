import { setImmediate as tick } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import type { Definition } from '../../configuration/tool-pins/pin-store.ts'
import type { RefusedTool, ToolSpec } from '../builder.ts'
import type { Pins } from './pins.ts'
import { createCheckMaker, toServerTool, type ServerTool } from './server-tool.ts'
import { limits, type McpConfig, type Secrets } from './server.ts'
import type { Listing } from './session.ts'

/** The tools of one server, as offered to the agent. */
interface ToolList {
  tools(): readonly Tool[]
  refused(): readonly RefusedTool[]
  /** Replaces the tools by a new listing of the server. Rejects when the listing has too many tools. */
  update(listing: Listing): Promise<void>
  /** Reads the pins again, and updates the usable and refused tools. */
  recheck(): Promise<void>
}

interface ToolListOptions {
  spec: ToolSpec
  config: McpConfig
  secrets: Pick<Secrets, 'mask'>
  /** Present when `pin` is configured: changed tools must be accepted first. */
  pins?: Pins
  execute(tool: ServerTool, traits: Tool, input: JsonObject, context: ToolContext): Promise<JsonValue>
  /** Added to the tools of a server with resources, except for names that the server itself uses. */
  resourceTools?: readonly Tool[]
  log: Logger
}

/** Tools validated without yielding to the event loop: each may take milliseconds. */
const batchSize = 8

export function createToolList({ spec, config, secrets, pins, execute, resourceTools = [], log }: ToolListOptions): ToolList {
  const makeCheck = createCheckMaker()
  let serverTools = new Map<string, ServerTool>()
  /** `mirrorsArguments` of the listing that `serverTools` comes from. */
  let currentlyMirrors = false
  let toolsByName = new Map<string, Tool>()
  let usable: Tool[] = []
  let added: readonly Tool[] = []
  let refused: RefusedTool[] = []
  let changed: ReadonlyMap<string, Definition> = new Map()

  const isIncluded = (name: string) =>
    (config.include === undefined || matchesAny(name, config.include)) && !matchesAny(name, config.exclude ?? [])

  async function update({ tools: listed, mirrorsArguments, hasResources }: Listing): Promise<void> {
    added = hasResources ? resourceTools : []
    const included = listed.filter((tool) => isIncluded(String(Object(tool)['name'])))
    if (included.length > limits.tools) {
      throw new Error(
        `The server has ${included.length} tools, more than the limit of ${limits.tools}; select the tools to use with include.`,
      )
    }
    const next = new Map<string, ServerTool>()
    // Another protocol revision has other rules, so that unchanged definitions must be validated again.
    const comparable = mirrorsArguments === currentlyMirrors ? serverTools : new Map<string, ServerTool>()
    currentlyMirrors = mirrorsArguments
    for (const [index, listedTool] of included.entries()) {
      if (index % batchSize === batchSize - 1) await tick()
      const tool = toServerTool(secrets.mask(listedTool), { makeCheck, previousTools: comparable, mirrorsArguments })
      if (tool && !next.has(tool.name)) next.set(tool.name, tool)
    }
    logChanges(serverTools, next)
    serverTools = next
    select((await pins?.review([...next.values()])) ?? new Map())
  }

  function logChanges(before: ReadonlyMap<string, ServerTool>, after: ReadonlyMap<string, ServerTool>): void {
    for (const tool of after.values()) {
      const previous = before.get(tool.name)
      if (previous === tool) continue
      const name = nameOf(tool)
      if (previous) log.warn({ tool: name, before: previous.hash, after: tool.hash }, 'A tool of an MCP server has changed its description')
      else if (before.size > 0) log.info({ tool: name, hash: tool.hash }, 'An MCP server has a new tool')
      if (tool.fault !== undefined) log.warn({ tool: name, reason: tool.fault }, 'A tool of an MCP server cannot be used')
    }
    for (const { name } of before.values())
      if (!after.has(name)) log.info({ tool: `${spec.name}__${name}` }, 'A tool of an MCP server is gone')
  }

  async function recheck(): Promise<void> {
    const checked = serverTools
    const result = (await pins?.recheck([...checked.values()])) ?? new Map<string, Definition>()
    // A new listing has been reviewed meanwhile.
    if (checked === serverTools) select(result)
  }

  /** Separates usable from refused tools. `next`: the accepted definitions of the changed tools, by tool name. */
  function select(next: ReadonlyMap<string, Definition>): void {
    const before = changed
    changed = next
    for (const name of changed.keys())
      if (!before.has(name)) log.warn({ tool: `${spec.name}__${name}` }, 'A changed tool waits to be accepted')
    const tools = [...serverTools.values()]
    // An unchanged tool stays the same object: search index and approval gates are keyed by the object.
    toolsByName = new Map(tools.map((tool) => [tool.name, (isSame(tool) ? toolsByName.get(tool.name) : undefined) ?? makeTool(tool)]))
    const names = new Set(tools.map(nameOf))
    usable = [
      ...tools.filter((tool) => refusalReason(tool) === undefined).map(({ name }) => toolsByName.get(name)!),
      ...added.filter(({ name }) => !names.has(name)),
    ]
    refused = tools.flatMap((tool) => {
      const reason = refusalReason(tool)
      if (reason === undefined) return []
      const { description, schema } = changed.get(tool.name) ?? tool
      return [{ name: nameOf(tool), description, schema, reason }]
    })
  }

  const serverToolOf = new WeakMap<Tool, ServerTool>()
  const isSame = (tool: ServerTool) => {
    const previous = toolsByName.get(tool.name)
    return previous !== undefined && serverToolOf.get(previous) === tool
  }

  const nameOf = ({ name }: ServerTool) => `${spec.name}__${name}`

  function refusalReason(tool: ServerTool): string | undefined {
    if (tool.fault !== undefined) return tool.fault
    if (!changed.has(tool.name)) return undefined
    return `The definition of the tool on the server has changed. Accept the change with: agent-core tool accept ${nameOf(tool)}`
  }

  function makeTool(tool: ServerTool): Tool {
    const configuredEffect = config.effects && Object.hasOwn(config.effects, tool.name) ? config.effects[tool.name] : undefined
    const agentTool: Tool = {
      name: nameOf(tool),
      description: tool.description,
      schema: tool.schema,
      effect: configuredEffect ?? spec.effect ?? (tool.readsOnly ? 'read' : 'write'),
      filters: false,
      timeoutMs: spec.timeoutMs,
      maxOutputCharacters: spec.maxOutputCharacters,
      check: tool.check,
      async execute(input, context) {
        // A running run still holds this tool, but must not call the changed tool.
        if (changed.has(tool.name))
          throw new Error(
            'The definition of this tool on the server has changed; the tool cannot be used until an operator accepts the change.',
          )
        return execute(tool, agentTool, input, context)
      },
    }
    serverToolOf.set(agentTool, tool)
    return agentTool
  }

  return { tools: () => usable, refused: () => refused, update, recheck }
}

/** True when a name matches one of the patterns, in which `*` stands for any characters. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(name, pattern.split('*')))
}

/** Matches part by part, each part at the first occurrence: linear time per part, without backtracking. */
function matches(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  const end = name.length - last.length
  let at = first.length
  for (const part of rest) {
    const index = name.indexOf(part, at)
    if (index === -1) return false
    at = index + part.length
  }
  return at <= end
}
