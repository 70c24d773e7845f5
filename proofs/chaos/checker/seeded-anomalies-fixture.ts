import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kind, Operation, OperationOf } from '../history/operations.ts'
import { check } from './check.ts'
import { toFacts, type Facts } from './facts.ts'
import { createSimulation, simulate, type Simulation } from './simulated-history-fixture.ts'

/** Makes a history wrong in one known way, at a random place. */
export type Mutation = (history: Operation[], random: () => number) => void

/** Wrong histories of one property: what is wrong with them, how they become so, and what the checker must say. */
export type SeededAnomalies = Record<string, { wrong: Mutation; found: RegExp }>

/** Right histories by seed. */
const histories = new Map([1, 2, 3, 4, 5].map((seed) => [seed, simulate(seed)]))

/** Tests that a property holds in right histories, and that it finds each anomaly at every seeded place. */
export function testProperty(name: string, property: (facts: Facts) => string[], anomalies: SeededAnomalies): void {
  test(`${name}: a history without anomalies raises no alarm`, () => {
    for (const history of histories.values()) assert.deepEqual(property(toFacts(history)), [])
  })
  for (const [what, { wrong, found }] of Object.entries(anomalies)) {
    test(`${name}: finds ${what}`, () => {
      for (const [seed, right] of histories) {
        const history = structuredClone(right)
        wrong(history, createSimulation(seed + 100).random)
        history.sort((a, b) => a.endedAt - b.endedAt)
        const said = property(toFacts(history))
        assert.ok(
          said.some((anomaly) => found.test(anomaly)),
          `seed ${seed}: ${JSON.stringify(said)}`,
        )
      }
    })
  }
}

/** Checks a history that is written by hand against all properties. */
export function anomaliesOf(write: (simulation: Simulation) => void, limits: ReadonlyMap<string, number> = new Map()): string[] {
  const simulation = createSimulation(1)
  write(simulation)
  return [...check(simulation.history, limits).values()].flat()
}

/** A random operation of a kind that fits. */
export function pick<K extends Kind>(
  history: readonly Operation[],
  kind: K,
  random: () => number,
  fits: (operation: OperationOf<K>) => boolean = () => true,
): OperationOf<K> {
  const all = history.filter((operation): operation is Operation & OperationOf<K> => operation.kind === kind).filter(fits)
  const picked = all[Math.floor(random() * all.length)]
  assert.ok(picked, `the history has no fitting operation ${kind}`)
  return picked
}

export function remove(history: Operation[], operation: object): void {
  history.splice(history.indexOf(operation as Operation), 1)
}
