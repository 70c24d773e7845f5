import type { Agent } from '../../configuration/agent.ts'
import { localBus } from '../../replicas/bus.ts'
import type { SubAgent, SubAgentStore } from '../../sub-agents/sub-agent-store.ts'
import { createSubAgents, type SubAgents } from '../../sub-agents/sub-agents.ts'

interface ReplayedSubAgentsOptions {
  list: readonly SubAgent[]
  agent: Agent
  now(): number
  newId(): string
  onFault(error: unknown): void
}

/** The sub-agents of one replay: those of the recorded caller, and those that the replay creates. All are gone with the replay. */
export function createReplayedSubAgents({ list, agent, ...ports }: ReplayedSubAgentsOptions): SubAgents {
  const entries = [...list]
  const store: SubAgentStore = {
    list: async () => [...entries],
    async insert(_caller, subAgent, max) {
      if (entries.some(({ name }) => name === subAgent.name)) return 'exists'
      if (entries.length >= max) return 'full'
      entries.push(subAgent)
      return 'added'
    },
    async remove(_caller, id) {
      const at = entries.findIndex((entry) => entry.id === id)
      if (at >= 0) entries.splice(at, 1)
      return at >= 0
    },
    atWork: async (_caller, id) => entries.some((entry) => entry.id === id),
    ended: async () => undefined,
  }
  return createSubAgents({ ...ports, store, agent: () => agent, isShared: false, bus: localBus, holder: 'replay' })
}
