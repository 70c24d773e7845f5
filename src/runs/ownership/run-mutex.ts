import { runKeyText, type RunKey } from '../run.ts'

interface Holding {
  key: RunKey
  work: Promise<unknown>
}

/** Within a process, only one request at a time may begin, claim or take over the run of a key. */
export interface RunMutex {
  run<T>(key: RunKey, work: () => Promise<T>): Promise<T>
  isHeld(key: RunKey): boolean
  /** Resolves when the current work on the run has ended, however it ended. */
  whenFree(key: RunKey): Promise<void>
  /** Keys of the runs with work in progress. */
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
