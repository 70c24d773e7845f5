import type { Tool } from '../agent/tool.ts'
import { createDelegate } from './delegate.ts'
import { createOwnTools } from './own-tools.ts'
import { Slots, type Slot } from './slots.ts'
import type { SubAgent } from './sub-agent-store.ts'
import type { Surroundings } from './surroundings.ts'

/** The agent that delegates: the run's own agent has depth 0 and no agent above. */
export interface Delegator {
  depth: number
  /** Ids of the sub-agents above, including the delegating one: they are not asked again. */
  above: readonly string[]
  slot: Slot | undefined
}

/** The tools for delegation: to each of the caller's sub-agents, and to create and end the agent's own sub-agents. */
export function createDelegation(surroundings: Surroundings, list: readonly SubAgent[]): { tools(): readonly Tool[] } {
  const { config } = surroundings.agent
  let slots: Slots | undefined
  const subAgents = [...list]

  function delegates({ depth, above, slot }: Delegator): Tool[] {
    if (depth >= config.sub_agents.max_depth) return []
    const candidates = subAgents.filter(({ id }) => !above.includes(id))
    return candidates.map((subAgent) => {
      const below = (childSlot: Slot) => delegates({ depth: depth + 1, above: [...above, subAgent.id], slot: childSlot })
      return createDelegate(subAgent, surroundings, (signal, work) => {
        slots ??= new Slots(config.sub_agents.concurrency)
        return slots.use(slot, signal, (childSlot) => work(() => below(childSlot)))
      })
    })
  }

  const ownTools = config.sub_agents.may_create ? createOwnTools(surroundings, subAgents) : undefined
  return { tools: () => [...delegates({ depth: 0, above: [], slot: undefined }), ...(ownTools?.() ?? [])] }
}
