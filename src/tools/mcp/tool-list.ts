import { setImmediate as tick } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import type { RefusedTool, ToolSpec } from '../builder.ts'
import { matchesAny } from '../name-patterns.ts'
import { createCheckMaker } from './guarded-check.ts'
import { limits } from './limits.ts'
import type { Definition, Pins } from './pins.ts'
import type { McpConfig } from './server.ts'
import type { Secrets } from './secrets.ts'
import { toServerTool, type ServerTool } from './server-tool.ts'
import type { Listing } from './session.ts'

/** The tools of one server as the agent has them. */
export interface ToolList {
  tools(): readonly Tool[]
  refused(): readonly RefusedTool[]
  /** Takes over what the server lists now. Rejects where it is too much. */
  update(listing: Listing): Promise<void>
  /** Looks again at what was accepted. */
  review(): Promise<void>
}

export interface ToolListOptions {
  spec: ToolSpec
  config: McpConfig
  secrets: Pick<Secrets, 'mask'>
  /** Where tools are held to what was accepted of them. */
  pins?: Pins
  execute(tool: ServerTool, made: Tool, input: JsonObject, context: ToolContext): Promise<JsonValue>
  log: Logger
}

/** A list is looked at so many tools at a time: each may take milliseconds. */
const slice = 8

export function createToolList({ spec, config, secrets, pins, execute, log }: ToolListOptions): ToolList {
  const makeCheck = createCheckMaker()
  let known = new Map<string, ServerTool>()
  /** Of the listing that `known` comes from. */
  let mirrored = false
  let made = new Map<string, Tool>()
  let usable: Tool[] = []
  let refused: RefusedTool[] = []
  let changed: ReadonlyMap<string, Definition> = new Map()

  const isWanted = (name: string) =>
    (config.include === undefined || matchesAny(name, config.include)) && !matchesAny(name, config.exclude ?? [])

  async function update({ tools: listed, mirrorsArguments }: Listing): Promise<void> {
    const wanted = listed.filter((one) => isWanted(String(Object(one)['name'])))
    if (wanted.length > limits.tools) {
      throw new Error(
        `The server has ${wanted.length} tools, and ${limits.tools} are the most; name those that are to be used under include.`,
      )
    }
    const next = new Map<string, ServerTool>()
    // Another revision of the protocol holds the same definition to other rules.
    const comparable = mirrorsArguments === mirrored ? known : new Map<string, ServerTool>()
    mirrored = mirrorsArguments
    for (const [index, one] of wanted.entries()) {
      if (index % slice === slice - 1) await tick()
      const tool = toServerTool(secrets.mask(one), { makeCheck, known: comparable, mirrorsArguments })
      if (tool && !next.has(tool.name)) next.set(tool.name, tool)
    }
    tellChanges(known, next)
    known = next
    await review()
  }

  function tellChanges(before: ReadonlyMap<string, ServerTool>, after: ReadonlyMap<string, ServerTool>): void {
    for (const tool of after.values()) {
      const was = before.get(tool.name)
      if (was === tool) continue
      const name = nameOf(tool)
      if (was) log.warn({ tool: name, before: was.hash, after: tool.hash }, 'A tool of an MCP server has changed its description')
      else if (before.size > 0) log.info({ tool: name, hash: tool.hash }, 'An MCP server has a new tool')
      if (tool.fault !== undefined) log.warn({ tool: name, reason: tool.fault }, 'A tool of an MCP server can not be used')
    }
    for (const { name } of before.values())
      if (!after.has(name)) log.info({ tool: `${spec.name}__${name}` }, 'A tool of an MCP server is gone')
  }

  async function review(): Promise<void> {
    const before = changed
    changed = (await pins?.review([...known.values()])) ?? new Map()
    for (const name of changed.keys())
      if (!before.has(name)) log.warn({ tool: `${spec.name}__${name}` }, 'A changed tool waits to be accepted')
    const tools = [...known.values()]
    // A tool that did not change stays the same object: what is kept of it elsewhere goes on.
    made = new Map(tools.map((tool) => [tool.name, (isSame(tool) ? made.get(tool.name) : undefined) ?? makeTool(tool)]))
    usable = tools.filter((tool) => whyNot(tool) === undefined).map(({ name }) => made.get(name)!)
    refused = tools.flatMap((tool) => {
      const reason = whyNot(tool)
      if (reason === undefined) return []
      const { description, schema } = changed.get(tool.name) ?? tool
      return [{ name: nameOf(tool), description, schema, reason }]
    })
  }

  const serverToolOf = new WeakMap<Tool, ServerTool>()
  const isSame = (tool: ServerTool) => {
    const one = made.get(tool.name)
    return one !== undefined && serverToolOf.get(one) === tool
  }

  const nameOf = ({ name }: ServerTool) => `${spec.name}__${name}`

  function whyNot(tool: ServerTool): string | undefined {
    if (tool.fault !== undefined) return tool.fault
    if (!changed.has(tool.name)) return undefined
    return `What the server says of the tool has changed. Accept it by: agent-core tool accept ${nameOf(tool)}`
  }

  function makeTool(tool: ServerTool): Tool {
    const own = config.effects && Object.hasOwn(config.effects, tool.name) ? config.effects[tool.name] : undefined
    const one: Tool = {
      name: nameOf(tool),
      description: tool.description,
      schema: tool.schema,
      effect: own ?? spec.effect ?? (tool.readsOnly ? 'read' : 'write'),
      filters: false,
      timeoutMs: spec.timeoutMs,
      maxOutputCharacters: spec.maxOutputCharacters,
      check: tool.check,
      async execute(input, context) {
        // A run that began with it is not to go on with what has changed behind it.
        if (changed.has(tool.name))
          throw new Error('What the server says of this tool has changed; it is not used until somebody accepts it.')
        return execute(tool, one, input, context)
      },
    }
    serverToolOf.set(one, tool)
    return one
  }

  return { tools: () => usable, refused: () => refused, update, review }
}
