import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import fc from 'fast-check'
import { statesChannel } from '../../src/states.ts'
import { plansWith, type Plan } from './plan.ts'
import { simulate } from './simulate.ts'
import type { SimulatedStore } from './store.ts'

/** A schedule that breaks an invariant, as small as shrinking could make it. */
export interface Counterexample {
  plan: Plan
  faults: string[]
  labels: string[]
}

export interface Exploration {
  /** Number of executed schedules, without those of the shrinking. */
  schedules: number
  tasks: number
  /** How often each rare state of the service was reached. */
  states: Map<string, number>
  counterexample: Counterexample | undefined
}

export interface ExploreOptions {
  schedules: number
  seed: number
  /** Makes the database of each schedule. */
  createStore?: () => SimulatedStore
  /** How many schedules have budgets. Default: half of the schedules. */
  budgets?: Parameters<typeof plansWith>[0]
  /** Most schedules that are executed to shrink a counterexample. Default: 2000. */
  maxShrinks?: number
}

/** Executes schedules until a schedule breaks an invariant, and shrinks the found schedule. The same seed makes the same schedules. */
export async function explore({ schedules, seed, createStore, budgets = 'half', maxShrinks = 2000 }: ExploreOptions): Promise<Exploration> {
  const exploration: Exploration = { schedules: 0, tasks: 0, states: new Map(), counterexample: undefined }
  const { states } = exploration
  const count = (name: unknown) => void states.set(String(name), (states.get(String(name)) ?? 0) + 1)
  let shrinks = 0
  const property = fc.asyncProperty(plansWith(budgets), async (plan) => {
    // Later candidates count as schedules without a fault.
    if (exploration.counterexample && ++shrinks > maxShrinks) return
    const { faults, labels, tasks } = await simulate(plan, createStore)
    if (!exploration.counterexample) {
      exploration.schedules++
      exploration.tasks += tasks
    }
    if (faults.length === 0) return
    exploration.counterexample = { plan, faults, labels }
    throw new Error(faults[0])
  })
  subscribe(statesChannel, count)
  try {
    await fc.check(property, { numRuns: schedules, seed })
  } finally {
    unsubscribe(statesChannel, count)
  }
  return exploration
}
