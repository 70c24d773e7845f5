import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext, ToolListing, ToolSet } from '../../agent/tool.ts'

/** Everything of a tool but its function. */
export type ToolDescription = Omit<Tool, 'execute'>

/** Answers a call in place of the tool's function. */
export type AnswerCall = (tool: ToolDescription, input: JsonObject, context: ToolContext) => Promise<JsonValue>

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

/** Without a look at the settings for the provider, which hold secrets. */
export function isOfProvider(tool: object): boolean {
  return 'provider' in tool
}

export interface CatalogOptions {
  answer: AnswerCall
  /** False for a tool that the provider of the model must not run. Such a tool is not offered: the provider runs a call before the replay hears of the call. */
  mayReach(tool: ToolDescription): boolean
  /** True for a tool that has written in the recorded run, or writes in the configuration in use, whatever effect a candidate declares. */
  isWrite(tool: string): boolean
}

/** The tools of a configuration as a replay offers them. The owner of `tools` closes them. */
export function createReplayCatalog(tools: ToolSet, { answer, mayReach, isWrite }: CatalogOptions): ReplayCatalog {
  const replayed = new WeakMap<Tool, ReplayTool>()

  function toReplayTool(tool: Tool): ReplayTool {
    const cached = replayed.get(tool)
    if (cached) return cached
    const { execute: _execute, ...declared } = tool
    const description = isWrite(tool.name) ? { ...declared, effect: 'write' as const } : declared
    const replayTool: ReplayTool = { ...description, [isReplayed]: true, execute: (input, context) => answer(description, input, context) }
    replayed.set(tool, replayTool)
    return replayTool
  }

  return {
    list: () =>
      tools.list().map(({ tool, ...listing }) => {
        return { ...listing, ...(tool && !(isOfProvider(tool) && !mayReach(tool)) && { tool: toReplayTool(tool) }) }
      }),
    search: tools.search,
    ...(tools.find && { find: tools.find }),
    settling: () => tools.settling(),
    close: async () => undefined,
  }
}
