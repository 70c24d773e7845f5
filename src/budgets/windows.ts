import { Cron } from 'croner'
import type { BudgetWindow } from '../configuration/budget-schema.ts'

/** A span of time: `start` belongs to the window, `end` to the next one. Epoch milliseconds. */
export interface Window {
  start: number
  end: number
}

/** When windows begin, as cron patterns of the zone. */
const beginnings: Record<BudgetWindow, string> = { hour: '0 * * * *', day: '0 0 * * *', week: '0 0 * * 1', month: '0 0 1 * *' }

/** The newest window of each kind and zone: nearly all calls fall into the current one. */
const newest = new Map<string, Window>()

/** The window of a time. Days have 23 or 25 hours where the clocks of the zone change, and begin later where midnight does not exist. */
export function windowAt(kind: BudgetWindow, timezone: string, at: number): Window {
  const name = `${kind} ${timezone}`
  const known = newest.get(name)
  if (known && known.start <= at && at < known.end) return known
  const found = findWindow(new Cron(beginnings[kind], { timezone, paused: true }), at)
  if (!known || found.start > known.start) newest.set(name, found)
  return found
}

/** croner counts in whole seconds, and its search backwards leaves out the second in which it begins. */
function findWindow(cron: Cron, at: number): Window {
  const second = Math.floor(at / 1000) * 1000
  const [start] = cron.previousRuns(1, new Date(second + 1000))
  const end = cron.nextRun(new Date(second))
  if (!start || !end) throw new Error(`There is no window at ${new Date(at).toISOString()}.`)
  return { start: start.getTime(), end: end.getTime() }
}
