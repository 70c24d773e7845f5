import type { Begun, EndedRun, NewRun, RunStore } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { endOf } from './fixture.ts'

/** What the tests of groups of chats share. */

type Around = (execute: () => Promise<any>, size: number) => Promise<any>

/** The database, with `around` called for each statement of a group. `sizes` has the number of chats of each. */
export function watched(database: Database, around: Around = (execute) => execute()): { grouped: Database; sizes: number[] } {
  const postgres = database.postgres!
  const sizes: number[] = []
  const writeGroup = (tenant: string) => ({
    execute: async (sql: string, values: readonly unknown[]) => {
      const size = JSON.parse(String(values[1])).length
      sizes.push(size)
      return around(() => postgres.writeGroup(tenant).execute(sql, values), size)
    },
  })
  return { grouped: { ...database, postgres: { ...postgres, writeGroup } }, sizes }
}

/** The database without statements for groups or single chats. */
export function byStep(database: Database): Database {
  const { postgres: _, ...rest } = database
  return rest
}

export function turnOf(begun: Begun | undefined) {
  if (begun?.kind !== 'running') throw new Error(`The run is ${begun?.kind}.`)
  return begun.turn
}

/** Begins and ends the runs at the same time; returns how each has ended. */
export async function chatAtOnce(store: RunStore, runs: readonly NewRun[], change: (n: number) => Partial<EndedRun> = () => ({})) {
  const begun = await Promise.all(runs.map((run) => store.begin(run)))
  const endings = runs.map((run, n) => store.finish(run, 1, endOf(turnOf(begun[n]), { checkpointId: 'c', ...change(n) })))
  return Promise.allSettled(endings)
}
