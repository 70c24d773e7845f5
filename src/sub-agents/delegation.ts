import type { Tool } from '../agent/tool.ts'
import { createDelegate } from './delegate.ts'
import { createOwnTools } from './own-tools.ts'
import { Slots, type Slot } from './slots.ts'
import type { SubAgent } from './sub-agent-store.ts'
import type { Surroundings } from './surroundings.ts'

/** Who gives the work: the agent itself has depth 0, and nobody above it. */
export interface Delegator {
  depth: number
  /** Ids of the sub-agents above, itself included: they are not asked again. */
  above: readonly string[]
  slot: Slot | undefined
}

/** The tools with which the agent of a run gives work to its caller's sub-agents, and makes and ends its own. */
export function createDelegation(surroundings: Surroundings, list: readonly SubAgent[]): { tools(): readonly Tool[] } {
  const { config } = surroundings.agent
  const slots = new Slots(config.sub_agents.concurrency)
  const known = [...list]

  function delegates({ depth, above, slot }: Delegator): Tool[] {
    if (depth >= config.sub_agents.max_depth) return []
    const others = known.filter((one) => !above.includes(one.id))
    return others.map((one) => {
      const below = (own: Slot) => delegates({ depth: depth + 1, above: [...above, one.id], slot: own })
      return createDelegate(one, surroundings, (signal, work) => slots.use(slot, signal, (own) => work(() => below(own))))
    })
  }

  const own = config.sub_agents.may_create ? createOwnTools(surroundings, known) : undefined
  return { tools: () => [...delegates({ depth: 0, above: [], slot: undefined }), ...(own?.() ?? [])] }
}
