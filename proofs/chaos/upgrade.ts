import { setTimeout as sleep } from 'node:timers/promises'
import { injectFault, type Scene } from './faults.ts'

/** Time between two faults while old and new processes run side by side. */
const pauseMs = 3000
/** Faults that leave an old process alive: it refuses to start again on the migrated database. */
const survivable = ['replica frozen', 'connections cut', 'answers lost', 'network dropped']

/**
 * Upgrades replicas of an earlier version one after another until `until` (epoch milliseconds): first all are old, then the first is replaced,
 * whose start migrates the database, and so on. Between two replacements there are faults in old and new processes, so that each version
 * takes over runs of the other; none if `isRolling`. Resolves with the number of faults by kind.
 */
export async function upgrade(scene: Scene, until: number, isRolling: boolean): Promise<Map<string, number>> {
  const { replicas, random } = scene
  const counts = new Map<string, number>()
  const inject = async (name: string, index: number) => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    await injectFault(name, index, scene)
  }
  const phaseMs = (until - Date.now()) / (replicas.length + 1)
  await sleep(phaseMs)
  for (const [index, replica] of replicas.entries()) {
    const end = Date.now() + phaseMs
    replica.upgrade()
    // A killed process leaves its runs to the others, of both versions.
    await inject(isRolling || index % 2 === 0 ? 'replica stopped' : 'replica killed', index)
    for (let n = 0; !isRolling && Date.now() < end; n++) {
      const target = n % replicas.length
      const names = replicas[target]!.isCurrent ? ['replica killed'] : survivable
      await inject(names[Math.floor(random() * names.length)]!, target)
      await sleep(random() * pauseMs)
    }
    await sleep(Math.max(0, end - Date.now()))
  }
  return counts
}
