import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext, ToolListing, ToolSet } from '../../agent/tool.ts'

/** Everything of a tool but its function. */
export type ToolDescription = Omit<Tool, 'execute'>

/** Answers a call in place of the tool's function. */
export type AnswerCall = (tool: ToolDescription, input: JsonObject, context: ToolContext) => Promise<JsonValue>

/** The function of a tool that only reads. There is no way to make one of a tool that writes. */
export class LiveRead {
  readonly effect = 'read'
  private readonly run: Tool['execute']

  private constructor(run: Tool['execute']) {
    this.run = run
  }

  /** Undefined for a tool with another effect. */
  static create(tool: Tool): LiveRead | undefined {
    return tool.effect === 'read' ? new LiveRead((input, context) => tool.execute(input, context)) : undefined
  }

  execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    return this.run(input, context)
  }
}

const isReplayed = Symbol('replayed')

/** A tool without its function: every call is answered by the replay. Made in this file alone. */
export interface ReplayTool extends Tool {
  readonly [isReplayed]: true
}

interface ReplayListing extends ToolListing {
  tool?: ReplayTool
}

/** The tools of a replay. By its type, the catalog holds no function of a configured tool. */
export interface ReplayCatalog extends ToolSet {
  list(): readonly ReplayListing[]
}

/** The tools of a configuration as a replay offers them. The owner of `tools` closes them. */
export function createReplayCatalog(tools: ToolSet, answer: AnswerCall): ReplayCatalog {
  const replayed = new WeakMap<Tool, ReplayTool>()

  function toReplayTool(tool: Tool): ReplayTool {
    const cached = replayed.get(tool)
    if (cached) return cached
    const { execute: _execute, ...description } = tool
    const replayTool: ReplayTool = { ...description, [isReplayed]: true, execute: (input, context) => answer(description, input, context) }
    replayed.set(tool, replayTool)
    return replayTool
  }

  return {
    list: () => tools.list().map(({ tool, ...listing }) => ({ ...listing, ...(tool && { tool: toReplayTool(tool) }) })),
    search: tools.search,
    ...(tools.find && { find: tools.find }),
    settling: () => tools.settling(),
    close: async () => undefined,
  }
}

/** The functions of the tools that may read during a replay, by name. A tool that changes something, or is not there, is a fault. */
export function toLiveReads(names: readonly string[], tools: ToolSet): { reads: ReadonlyMap<string, LiveRead>; faults: string[] } {
  const toolsByName = new Map(tools.list().flatMap(({ name, tool }) => (tool ? [[name, tool] as const] : [])))
  const reads = new Map<string, LiveRead>()
  const faults: string[] = []
  for (const name of names) {
    const tool = toolsByName.get(name)
    const read = tool && LiveRead.create(tool)
    if (read) reads.set(name, read)
    else faults.push(tool ? `${name} has effect ${tool.effect}` : `there is no tool ${name}`)
  }
  return { reads, faults }
}
