import type { Tool } from '../agent/tool.ts'
import { createDelegate, type ParentRun } from './delegate.ts'
import type { SubAgent } from './sub-agent-store.ts'

/** The agent that delegates: the run's own agent has depth 0 and no agent above. */
interface Delegator {
  depth: number
  /** Ids of the sub-agents above, including the delegating one: they are not asked again. */
  above: readonly string[]
  slot: Slot | undefined
}

/** The tools that give tasks to sub-agents, made from the current list. */
export function createDelegation(parent: ParentRun, subAgents: readonly SubAgent[]): () => Tool[] {
  const { max_depth: maxDepth, concurrency } = parent.agent.config.sub_agents
  const slots = new Slots(concurrency)

  function delegates({ depth, above, slot }: Delegator): Tool[] {
    if (depth >= maxDepth) return []
    const candidates = subAgents.filter(({ id }) => !above.includes(id))
    return candidates.map((subAgent) => {
      const below = (childSlot: Slot) => delegates({ depth: depth + 1, above: [...above, subAgent.id], slot: childSlot })
      return createDelegate(subAgent, parent, (signal, work) => slots.use(slot, signal, (childSlot) => work(() => below(childSlot))))
    })
  }

  return () => delegates({ depth: 0, above: [], slot: undefined })
}

/** The slot of a working sub-agent. */
export interface Slot {
  isHeld: boolean
  /** Number of sub-agents below, whose results are awaited. */
  children: number
}

/**
 * Limits how many sub-agents of a run work at the same time. A sub-agent that waits for its own sub-agents does not
 * work: the first of them takes over its slot and the last returns the slot, so no deadlock is possible.
 */
export class Slots {
  private free: number
  private readonly waiting = new Set<() => void>()

  constructor(count: number) {
    this.free = count
  }

  /** Runs `work` with a slot. Rejects when the signal is aborted before a slot is free. */
  async use<T>(parent: Slot | undefined, signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T> {
    const slot: Slot = { isHeld: false, children: 0 }
    if (parent) parent.children++
    try {
      if (parent?.isHeld) parent.isHeld = false
      else await this.take(signal)
      slot.isHeld = true
      return await work(slot)
    } finally {
      await this.leave(slot, parent, signal)
    }
  }

  private async leave(slot: Slot, parent: Slot | undefined, signal: AbortSignal): Promise<void> {
    if (parent && --parent.children === 0 && !parent.isHeld) {
      // The parent continues its work and needs a slot, unless the signal was aborted.
      parent.isHeld =
        slot.isHeld ||
        (await this.take(signal).then(
          () => true,
          () => false,
        ))
    } else if (slot.isHeld) this.release()
    slot.isHeld = false
  }

  private async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.free > 0) {
      this.free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.waiting.delete(enter)
        reject(signal.reason as Error)
      }
      this.waiting.add(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  private release(): void {
    const [next] = this.waiting
    if (!next) this.free++
    else {
      this.waiting.delete(next)
      next()
    }
  }
}
