import type { Agent, AgentParts, CurrentAgent } from './agent.ts'

/** The agents of this process: the current one, and those whose last runs have not ended. */
export interface Agents {
  readonly current: CurrentAgent
  /** New requests get this one; the one before is closed when nobody holds it any more. */
  swap(next: AgentParts): Agent
  /** Closes all of them, held or not. */
  close(): Promise<void>
}

export interface AgentsOptions {
  /** A tool could not be closed. */
  onError(error: unknown): void
}

export function createAgents(first: AgentParts, { onError }: AgentsOptions): Agents {
  /** How often each is held; one that was closed is not in it. */
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
