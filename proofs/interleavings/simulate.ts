import { createRandom } from '../random.ts'
import { checkBudgets } from './check-budgets.ts'
import { checkEnd } from './check-end.ts'
import { Clients } from './clients.ts'
import { installClock } from './clock.ts'
import type { Plan } from './plan.ts'
import { SimulatedStore } from './store.ts'
import { World } from './world.ts'

/** What one schedule has shown. */
export interface Outcome {
  /** What broke an invariant; empty for none. */
  faults: string[]
  /** Number of executed tasks. */
  tasks: number
  /** The labels of the executed tasks, in order; empty without faults. */
  labels: string[]
}

/** A schedule that needs more tasks does not end. The longest schedules end within a third of the number. */
const maxTasks = 6000

/** Executes one schedule. `createStore` makes the database; the tests of the invariants give one with a fault. */
export async function simulate({ steps, ...plan }: Plan, createStore = () => new SimulatedStore()): Promise<Outcome> {
  const restore = installClock(createRandom(plan.picks.length))
  try {
    const world = new World(plan, createStore())
    const clients = new Clients(world)
    const rest = begin(world, clients, steps)
    let tasks = 0
    while (world.audit.faults.length === 0 && !isDone(world, clients, rest)) {
      if (++tasks > maxTasks) world.audit.fault(`After ${maxTasks} tasks, ${describe(world)}.`)
      await world.schedule.next()
      await world.clock.settle()
      if (rest.length === 0) clients.decideRest()
    }
    await checkBudgets(world, steps)
    if (world.audit.faults.length === 0) checkEnd(world, clients)
    const { faults } = world.audit
    for (const process of world.processes) process.isAlive = false
    return { faults, tasks, labels: faults.length > 0 ? world.schedule.labels() : [] }
  } finally {
    restore()
  }
}

/** Number of times that a step waits for the subject of the step. */
const maxLooks = 15

/** Lets the steps begin in turn, when the schedule says so. Returns the steps that have not begun. */
function begin(world: World, clients: Clients, steps: readonly Plan['steps'][number][]): Plan['steps'] {
  const rest = [...steps]
  const beginNext = (looks: number) => {
    const [step] = rest
    if (!step) return
    void world.schedule.point(`step ${step.kind}`).then(() => {
      if (looks > 0 && !clients.isReadyFor(step)) return beginNext(looks - 1)
      rest.shift()
      clients.begin(step)
      beginNext(maxLooks)
    })
  }
  beginNext(maxLooks)
  return rest
}

function isDone(world: World, clients: Clients, rest: readonly unknown[]): boolean {
  if (rest.length > 0 || !clients.areAnswered) return false
  return world.processes.every(({ isAlive }) => isAlive) && world.store.allRows().every(({ endedAt }) => endedAt !== undefined)
}

function describe({ store }: World): string {
  const unended = store.allRows().filter(({ endedAt }) => endedAt === undefined)
  const runs = unended.map(({ requestId, status, holder }) => `run ${requestId} is ${status} in ${holder || 'no process'}`)
  return runs.length === 0 ? 'a request has no answer' : runs.join(', ')
}
