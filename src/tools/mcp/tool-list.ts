import { setImmediate as tick } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { marksOf } from '../../agent/taint.ts'
import type { Tool, ToolContext, ToolMarks } from '../../agent/tool.ts'
import type { Definition } from '../../configuration/mcp/pin-store.ts'
import type { RefusedTool, ToolSpec } from '../builder.ts'
import { matchesAny } from '../plain-text.ts'
import type { Pins } from './pins.ts'
import { createCheckMaker, toServerTool, type ServerTool } from './server-tool.ts'
import { limits, type McpConfig, type Secrets } from './server.ts'
import type { Listing } from './session.ts'

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

/** The tools of one server, as offered to the agent. */
export class ToolList {
  private readonly options: ToolListOptions
  private readonly makeCheck = createCheckMaker()
  private serverTools = new Map<string, ServerTool>()
  /** `mirrorsArguments` of the listing that `serverTools` comes from. */
  private currentlyMirrors = false
  private toolsByName = new Map<string, Tool>()
  private readonly serverToolOf = new WeakMap<Tool, ServerTool>()
  private usable: Tool[] = []
  private added: readonly Tool[] = []
  private refusedTools: RefusedTool[] = []
  private changed: ReadonlyMap<string, Definition> = new Map()

  constructor(options: ToolListOptions) {
    this.options = options
  }

  readonly tools = (): readonly Tool[] => this.usable

  readonly refused = (): readonly RefusedTool[] => this.refusedTools

  /** Replaces the tools by a new listing of the server. Rejects when the listing has too many tools. */
  async update({ tools: listed, mirrorsArguments, hasResources }: Listing): Promise<void> {
    const { secrets, pins, resourceTools = [] } = this.options
    this.added = hasResources ? resourceTools : []
    const included = listed.filter((tool) => this.isIncluded(String(Object(tool)['name'])))
    if (included.length > limits.tools) {
      throw new Error(
        `The server has ${included.length} tools, more than the limit of ${limits.tools}; select the tools to use with include.`,
      )
    }
    const next = new Map<string, ServerTool>()
    // Another protocol revision has other rules, so that unchanged definitions must be validated again.
    const previousTools = mirrorsArguments === this.currentlyMirrors ? this.serverTools : new Map<string, ServerTool>()
    this.currentlyMirrors = mirrorsArguments
    for (const [index, listedTool] of included.entries()) {
      if (index % batchSize === batchSize - 1) await tick()
      const tool = toServerTool(secrets.mask(listedTool), { makeCheck: this.makeCheck, previousTools, mirrorsArguments })
      if (tool && !next.has(tool.name)) next.set(tool.name, tool)
    }
    this.logChanges(this.serverTools, next)
    this.serverTools = next
    this.select((await pins?.review([...next.values()])) ?? new Map())
  }

  /** Reads the pins again, and updates the usable and refused tools. */
  async recheck(): Promise<void> {
    const checked = this.serverTools
    const result = (await this.options.pins?.recheck([...checked.values()])) ?? new Map<string, Definition>()
    // A new listing has been reviewed meanwhile.
    if (checked === this.serverTools) this.select(result)
  }

  private isIncluded(name: string): boolean {
    const { include, exclude = [] } = this.options.config
    return (include === undefined || matchesAny(name, include)) && !matchesAny(name, exclude)
  }

  private nameOf(name: string): string {
    return `${this.options.spec.name}__${name}`
  }

  private logChanges(before: ReadonlyMap<string, ServerTool>, after: ReadonlyMap<string, ServerTool>): void {
    const { log } = this.options
    for (const tool of after.values()) {
      const previous = before.get(tool.name)
      if (previous === tool) continue
      const name = this.nameOf(tool.name)
      if (previous) log.warn({ tool: name, before: previous.hash, after: tool.hash }, 'A tool of an MCP server has changed its description')
      else if (before.size > 0) log.info({ tool: name, hash: tool.hash }, 'An MCP server has a new tool')
      if (tool.fault !== undefined) log.warn({ tool: name, reason: tool.fault }, 'A tool of an MCP server cannot be used')
    }
    for (const { name } of before.values()) if (!after.has(name)) log.info({ tool: this.nameOf(name) }, 'A tool of an MCP server is gone')
  }

  /** Separates usable from refused tools. `next`: the accepted definitions of the changed tools, by tool name. */
  private select(next: ReadonlyMap<string, Definition>): void {
    const before = this.changed
    this.changed = next
    for (const name of next.keys())
      if (!before.has(name)) this.options.log.warn({ tool: this.nameOf(name) }, 'A changed tool waits to be accepted')
    const tools = [...this.serverTools.values()]
    this.toolsByName = new Map(tools.map((tool) => [tool.name, this.unchanged(tool) ?? this.makeTool(tool)]))
    const names = new Set(tools.map(({ name }) => this.nameOf(name)))
    this.usable = [
      ...tools.filter((tool) => this.refusalReason(tool) === undefined).map(({ name }) => this.toolsByName.get(name)!),
      ...this.added.filter(({ name }) => !names.has(name)),
    ]
    this.refusedTools = tools.flatMap((tool) => {
      const reason = this.refusalReason(tool)
      if (reason === undefined) return []
      const { description, schema } = next.get(tool.name) ?? tool
      return [{ name: this.nameOf(tool.name), description, schema, reason }]
    })
  }

  /** An unchanged tool stays the same object: search index and approval gates are keyed by the object. */
  private unchanged(tool: ServerTool): Tool | undefined {
    const previous = this.toolsByName.get(tool.name)
    return previous && this.serverToolOf.get(previous) === tool ? previous : undefined
  }

  private refusalReason(tool: ServerTool): string | undefined {
    if (tool.fault !== undefined) return tool.fault
    if (!this.changed.has(tool.name)) return undefined
    return `The definition of the tool on the server has changed. Accept the change with: agent-core tool accept ${this.nameOf(tool.name)}`
  }

  private makeTool(tool: ServerTool): Tool {
    const { config, spec, execute } = this.options
    const configuredEffect = config.effects && Object.hasOwn(config.effects, tool.name) ? config.effects[tool.name] : undefined
    const agentTool: Tool = {
      name: this.nameOf(tool.name),
      description: tool.description,
      schema: tool.schema,
      effect: configuredEffect ?? spec.effect ?? (tool.readsOnly ? 'read' : 'write'),
      filters: false,
      marks: marksOfServerTool(tool, spec),
      timeoutMs: spec.timeoutMs,
      maxOutputCharacters: spec.maxOutputCharacters,
      check: tool.check,
      execute: async (input, context) => {
        // A running run still holds this tool, but must not call the changed tool.
        if (this.changed.has(tool.name))
          throw new Error(
            'The definition of this tool on the server has changed; the tool cannot be used until an operator accepts the change.',
          )
        return execute(tool, agentTool, input, context)
      },
    }
    this.serverToolOf.set(agentTool, tool)
    return agentTool
  }
}

/** The marks of a tool of a server. With `pin`, a person has accepted the descriptions. */
function marksOfServerTool({ closedWorld }: ServerTool, { name, config, isOutbound, ...spec }: ToolSpec): ToolMarks {
  const marks = marksOf(spec)
  const isDescribed = marks.trust === 'untrusted' && config['pin'] !== true
  return { ...marks, outbound: isOutbound === true || (marks.outbound && !closedWorld), ...(isDescribed && { describedBy: name }) }
}
