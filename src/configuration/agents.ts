import type { Agent, AgentParts, CurrentAgent } from './agent.ts'

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
    const agent: Agent = { ...parts, hold: () => hold(agent) }
    holds.set(agent, 0)
    return agent
  }

  let current = add(first)

  function hold(agent: Agent): () => void {
    change(agent, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      change(agent, -1)
      closeUnused(agent)
    }
  }

  function change(agent: Agent, difference: number): void {
    const count = holds.get(agent)
    if (count !== undefined) holds.set(agent, count + difference)
  }

  function closeUnused(agent: Agent): void {
    if (agent !== current && holds.get(agent) === 0) void closeTools(agent)
  }

  async function closeTools(agent: Agent): Promise<void> {
    holds.delete(agent)
    await agent.tools.close().catch(onError)
  }

  return {
    current: () => current,
    swap(next) {
      const before = current
      current = add(next)
      closeUnused(before)
      return current
    },
    async close() {
      await Promise.all([...holds.keys()].map(closeTools))
    },
  }
}
