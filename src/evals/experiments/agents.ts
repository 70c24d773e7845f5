import type { Agent } from '../../configuration/agent.ts'
import type { AgentConfig } from '../../configuration/schema.ts'

/** The agent of a variant. `close` ends the use of its tools. */
export interface OpenedAgent {
  agent: Agent
  close(): Promise<void>
}

/**
 * Makes an agent of a configuration and waits for its tools. The agent in use is taken where its configuration is the same. Throws
 * `ConfigError` for models that cannot be created.
 */
export type OpenAgent = (config: AgentConfig, version: string) => Promise<OpenedAgent>
