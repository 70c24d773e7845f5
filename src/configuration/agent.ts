import type { Embedder } from '../agent/embedder.ts'
import type { Model } from '../agent/model.ts'
import type { ToolSet } from '../agent/tool.ts'
import type { FindPrices } from './prices.ts'
import type { AgentConfig } from './schema.ts'

/** A configuration that is ready to run. Immutable: a changed configuration gets a new agent, and a run keeps the agent of the run's start. */
export interface Agent extends AgentParts {
  /** Keeps the tools open until the returned function is called, even after another agent became the current agent. */
  hold(): () => void
}

/** The parts of an agent. */
export interface AgentParts {
  readonly version: string
  readonly config: AgentConfig
  readonly model: Model
  /** The model for work beside a run: memory, summaries. Undefined for the embedded rules model, which supports neither. */
  readonly small: Model | undefined
  /** Finds memories by meaning. */
  readonly embedder: Embedder | undefined
  readonly tools: ToolSet
  readonly findPrices: FindPrices
}

/** Returns the agent for new requests. Call `hold` to use the agent beyond the current turn of the event loop. */
export type CurrentAgent = () => Agent

/** Returns a line for each tool that cannot be used. Tools of an entry with the same problem share a line. */
export function findFaultyTools(tools: ToolSet): string[] {
  const lines = tools.list().flatMap(({ name, entry = name, status, reason }) => {
    if (status === 'ready') return []
    return [status === 'error' ? `tools[${entry}]: ${reason}` : `tools[${entry}] is not ready yet`]
  })
  return [...new Set(lines)]
}
