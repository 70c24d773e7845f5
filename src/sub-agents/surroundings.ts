import type { Owner } from '../access/owner.ts'
import type { Tool } from '../agent/tool.ts'
import type { LoopOptions } from '../agent/options.ts'
import type { AgentParts } from '../configuration/agent.ts'
import type { SubAgents } from './sub-agents.ts'

/** Options that every loop of a run shares. */
export type CommonOptions = Pick<
  LoopOptions,
  | 'headers'
  | 'isDown'
  | 'caller'
  | 'session'
  | 'sessionId'
  | 'contextFiles'
  | 'latestOutput'
  | 'decisionFor'
  | 'filters'
  | 'keepArtifact'
  | 'showImage'
  | 'stopReason'
  | 'windowTokens'
  | 'trace'
  | 'now'
  | 'newId'
>

/** The run that gives tasks to sub-agents. */
export interface Surroundings {
  caller: Owner
  common: CommonOptions
  agent: Pick<AgentParts, 'config' | 'model' | 'tools'>
  /** Tools of the agent itself. */
  tools: readonly Tool[]
  subAgents: SubAgents
  /** Receives internal errors; the model is not told of them. */
  onFault(error: unknown): void
}
