import { readFile } from 'node:fs/promises'
import { states, type State } from './states.ts'

/** Counts the states in the files of the replicas. */
export async function countStates(files: readonly string[]): Promise<Map<string, number>> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))
  const counts = new Map<string, number>()
  for (const name of texts.join('').split('\n')) if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** A busy machine injects fewer than a fault in this time: the run counts as a shorter run. */
const secondsPerFault = 4

/** States that a chaos run of the given length and number of faults must reach, but has not reached, as texts. */
export function findUnreached(counts: ReadonlyMap<string, number>, seconds: number, faultCount: number): string[] {
  const effectiveSeconds = Math.min(seconds, faultCount * secondsPerFault)
  return states
    .filter((state) => isExpected(state, effectiveSeconds) && !counts.has(state.name))
    .map(({ name, file }) => `${name} (src/${file}) was never reached`)
}

function isExpected({ within }: State, seconds: number): boolean {
  return within !== undefined && within <= seconds
}

/** Prints the count of each state; `-` for a state that was never reached. */
export function printStates(counts: ReadonlyMap<string, number>): void {
  const reached = states.filter(({ name }) => counts.has(name)).length
  console.log(`\nRare states: ${reached} of ${states.length} reached`)
  for (const { name, invariant } of states) console.log(`  ${String(counts.get(name) ?? '-').padStart(5)}  ${name.padEnd(28)}${invariant}`)
}
