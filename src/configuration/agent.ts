import type { Embedder, Model } from '../agent/model.ts'
import type { ToolSet } from '../agent/tool.ts'
import type { FindPrices } from './model-schema.ts'
import type { AgentConfig } from './schema.ts'
import type { AgentSkills } from './skills/skill.ts'

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
  /** Absent: no skills are configured. */
  readonly skills?: AgentSkills
  readonly findPrices: FindPrices
}

/** Returns the agent for new requests. Call `hold` to use the agent beyond the current turn of the event loop. */
export type CurrentAgent = () => Agent

/** The agents of the process: the current agent, and former agents that runs still hold. */
export interface Agents {
  readonly current: CurrentAgent
  /** Makes `next` the current agent. The former agent is closed when no run holds the agent any more. */
  swap(next: AgentParts): Agent
  /** Closes all agents, including held agents. */
  close(): Promise<void>
}

export interface AgentsOptions {
  /** Called when a tool could not be closed. */
  onError(error: unknown): void
}

export function createAgents(first: AgentParts, { onError }: AgentsOptions): Agents {
  /** The number of holds of each open agent. */
  const holds = new Map<Agent, number>()

  function add(parts: AgentParts): Agent {
    const agent: Agent = {
      ...parts,
      hold() {
        const before = holds.get(agent)
        if (before !== undefined) holds.set(agent, before + 1)
        let isHeld = true
        return () => {
          const count = holds.get(agent)
          if (!isHeld || count === undefined) return
          isHeld = false
          holds.set(agent, count - 1)
          if (count === 1 && agent !== current) void closeTools(agent)
        }
      },
    }
    holds.set(agent, 0)
    return agent
  }

  let current = add(first)

  async function closeTools(agent: Agent): Promise<void> {
    holds.delete(agent)
    await agent.tools.close().catch(onError)
  }

  return {
    current: () => current,
    swap(next) {
      const before = current
      current = add(next)
      if (holds.get(before) === 0) void closeTools(before)
      return current
    },
    async close() {
      await Promise.all([...holds.keys()].map(closeTools))
    },
  }
}

/** Returns a line for each tool that cannot be used. Tools of an entry with the same problem share a line. */
export function findFaultyTools(tools: ToolSet): string[] {
  const lines = tools.list().flatMap(({ name, entry = name, status, reason }) => {
    if (status === 'ready') return []
    return [status === 'error' ? `tools[${entry}]: ${reason}` : `tools[${entry}] is not ready yet`]
  })
  return [...new Set(lines)]
}
