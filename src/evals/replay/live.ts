import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext, ToolListing } from '../../agent/tool.ts'
import type { Agent } from '../../configuration/agent.ts'
import type { AgentConfig, ToolConfig } from '../../configuration/schema.ts'
import { fieldsOf } from '../../json/shape.ts'

/** What decides whether a tool may read during a replay. */
export interface LiveScope {
  /** The variant. */
  agent: Pick<Agent, 'config' | 'tools'>
  /** The configuration in use. */
  inUse: Pick<AgentConfig, 'tools'>
  /** True for the name of a tool that writes in the configuration in use. */
  writesInUse(tool: string): boolean
}

/** The tool of a variant that only reads. There is no way to make one of a tool that writes. */
export class LiveRead {
  readonly effect = 'read'
  private readonly find: () => Tool | undefined

  private constructor(find: () => Tool | undefined) {
    this.find = find
  }

  /** Undefined for a tool that may not read. */
  static create(name: string, scope: LiveScope): LiveRead | undefined {
    return faultOfLive(name, scope) === undefined ? new LiveRead(() => findListing(name, scope)?.tool) : undefined
  }

  /** True where a server has changed the effect of the tool since. */
  get writesNow(): boolean {
    return this.find()?.effect === 'write'
  }

  /** Runs the tool as the variant has the tool now. Nothing of the recorded run but its filters reaches the tool. */
  async execute(input: JsonObject, context: ToolContext, replay: string): Promise<JsonValue> {
    const tool = this.find()
    if (!tool || !mayRead(tool)) throw new Error('This tool may not read at the moment.')
    const { sample: _sample, inner: _inner, maySuspend: _maySuspend, resumed: _resumed, ...rest } = context
    return tool.execute(input, { ...rest, headers: {}, session: replay, sessionId: replay, contextFiles: [] })
  }
}

/** The fault of a name that no tool has. */
export const noTool = 'there is no such tool'

/** The tools that may read during a replay, by name. */
export function toLiveReads(names: readonly string[], scope: LiveScope): ReadonlyMap<string, LiveRead> {
  return new Map(
    names.flatMap((name) => {
      const read = LiveRead.create(name, scope)
      return read ? [[name, read] as const] : []
    }),
  )
}

/**
 * Why a tool may not read during a replay, as a clause without the name; undefined for one that may. A variant must not declare itself that its tool reads: only
 * the tool, or an entry that is in use as it stands, may say so.
 */
export function faultOfLive(name: string, scope: LiveScope): string | undefined {
  const listing = findListing(name, scope)
  if (!listing) return noTool
  const { entry = name, reason, tool } = listing
  if (!tool) return `is not ready${reason === undefined ? '' : `: ${reason}`}`
  if (tool.effect === 'write') return 'has effect write'
  if (!mayRead(tool)) return 'waits for the approval of a person'
  const isEntry = (candidate: ToolConfig) => candidate.name === entry
  const configured = scope.agent.config.tools.find(isEntry)
  if (sendsHeaders(configured)) return 'needs the stix* headers of a caller, which a replay does not have'
  const isInUse = isDeepStrictEqual(configured, scope.inUse.tools.find(isEntry))
  if (!isInUse && declaresEffect(configured)) return 'has its effect from an entry that is not in use'
  return scope.writesInUse(name) ? 'has effect write' : undefined
}

function findListing(name: string, { agent }: LiveScope): ToolListing | undefined {
  return agent.tools.list().find((listing) => listing.name === name)
}

/** A call that would wait for a person is not made: nobody decides during a replay. */
function mayRead({ effect, approval }: Tool): boolean {
  return effect === 'read' && approval === undefined
}

function declaresEffect(entry: ToolConfig | undefined): boolean {
  return entry?.effect !== undefined || fieldsOf(entry?.config)['effects'] !== undefined
}

function sendsHeaders(entry: ToolConfig | undefined): boolean {
  const hosts = fieldsOf(entry?.config)['context_hosts']
  return Array.isArray(hosts) && hosts.length > 0
}
