import type { Agent } from '../../configuration/agent.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { SkillPins } from '../../configuration/skills/pins.ts'

/** The agent of a variant. `close` ends the use of its tools. */
export interface OpenedAgent {
  agent: Agent
  close(): Promise<void>
}

/**
 * Makes an agent of a configuration and waits for its tools. The agent in use is taken where its configuration and files are the same. Throws
 * `ConfigError` for models that cannot be created, and for files of skills and modules that are not those of `pins`; undefined: any files.
 */
export type OpenAgent = (config: AgentConfig, version: string, pins: SkillPins | undefined) => Promise<OpenedAgent>
