import { runKeyText, type RunKey } from '../run.ts'

interface Holding {
  key: RunKey
  work: Promise<unknown>
}

/** Makes the work on one run, by its key, run one at a time in this process: beginning it, claiming it, taking it over. */
export interface RunMutex {
  run<T>(key: RunKey, work: () => Promise<T>): Promise<T>
  isHeld(key: RunKey): boolean
  /** Resolves when the current work on the run has ended, however it ended. */
  whenFree(key: RunKey): Promise<void>
  /** Keys of the runs that are worked on. */
  heldKeys(): RunKey[]
}

export function createRunMutex(): RunMutex {
  const holdings = new Map<string, Holding>()

  async function whenFree(key: RunKey): Promise<void> {
    await holdings.get(runKeyText(key))?.work.catch(() => undefined)
  }

  async function run<T>(key: RunKey, work: () => Promise<T>): Promise<T> {
    const name = runKeyText(key)
    while (holdings.has(name)) await whenFree(key)
    const working = work()
    holdings.set(name, { key, work: working })
    try {
      return await working
    } finally {
      holdings.delete(name)
    }
  }

  return {
    run,
    isHeld: (key) => holdings.has(runKeyText(key)),
    whenFree,
    heldKeys: () => [...holdings.values()].map(({ key }) => key),
  }
}
