import type { Step } from './plan.ts'
import type { World } from './world.ts'

/** Steps after which the outcome of a call may be unknown, so that its reservation is settled in full. */
const faults: ReadonlySet<Step['kind']> = new Set(['kill', 'stop', 'stall', 'deafen', 'fail'])

/**
 * Checks, when every run has ended, that each reservation was settled, and that the spent amounts are the amounts that the model has
 * counted.
 */
export async function checkBudgets({ store: { budgets }, audit, counted }: World, steps: readonly Step[]): Promise<void> {
  for (const fault of budgets.faults) audit.fault(fault)
  const isQuiet = !steps.some(({ kind }) => faults.has(kind))
  if (isQuiet && budgets.held.size > 0) audit.fault(`${budgets.held.size} reservations are left.`)
  // The sweep of retention settles what no run will settle.
  await budgets.settleLost()
  const { known, estimated } = budgets.settled
  if (budgets.held.size > 0) audit.fault(`${budgets.held.size} reservations are left after the sweep.`)
  if (isQuiet && estimated > 0) audit.fault(`${estimated} were estimated without a fault.`)
  if (known > counted) audit.fault(`${known} were spent, but the model has counted ${counted}.`)
  if (counted > known + estimated) audit.fault(`The model has counted ${counted}, but only ${known} and ${estimated} estimated were spent.`)
}
