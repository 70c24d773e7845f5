import type { Model } from '../agent/model.ts'
import type { ToolSet } from '../agent/tool.ts'
import type { AgentConfig } from './schema.ts'

/** One configuration, made ready to run. Never changed: a change of the configuration makes another one, and a run keeps its own. */
export interface Agent {
  readonly version: string
  readonly config: AgentConfig
  readonly model: Model
  /** For what is done beside a run: memory, summaries. Undefined where it would be the embedded rules model, which can do neither. */
  readonly small: Model | undefined
  readonly tools: ToolSet
}

/** The agent that new requests get. */
export type CurrentAgent = () => Agent
