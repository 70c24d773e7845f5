import type { Embedder } from '../agent/embedder.ts'
import type { Model } from '../agent/model.ts'
import type { ToolSet } from '../agent/tool.ts'
import type { AgentConfig } from './schema.ts'

/** One configuration, made ready to run. Never changed: a change of the configuration makes another one, and a run keeps its own. */
export interface Agent extends AgentParts {
  /** Keeps its tools open, also when another agent has taken its place, until the returned function is called. */
  hold(): () => void
}

/** What an agent is made of. */
export interface AgentParts {
  readonly version: string
  readonly config: AgentConfig
  readonly model: Model
  /** For what is done beside a run: memory, summaries. Undefined where it would be the embedded rules model, which can do neither. */
  readonly small: Model | undefined
  /** For finding memories by their meaning. */
  readonly embedder: Embedder | undefined
  readonly tools: ToolSet
}

/** The agent that new requests get. What is done with it beyond the same turn of the event loop is done while it is held. */
export type CurrentAgent = () => Agent

/** A line for each tool that can't be used as it is; one for all of an entry for which the same is true. */
export function findFaultyTools(tools: ToolSet): string[] {
  const lines = tools.list().flatMap(({ name, entry = name, status, reason }) => {
    if (status === 'ready') return []
    return [status === 'error' ? `tools[${entry}]: ${reason}` : `tools[${entry}] is not ready yet`]
  })
  return [...new Set(lines)]
}
