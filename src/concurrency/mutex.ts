/** Runs work one at a time, in the order of the calls. */
export interface Mutex {
  /** Settles as `work` does. A failure of earlier work does not stop later work. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when all work that was handed over before has settled. */
  idle(): Promise<void>
}

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const result = last.then(work)
      last = result.catch(() => undefined)
      return result
    },
    async idle() {
      await last
    },
  }
}

/** One `Mutex` per key: work of different keys runs at the same time. Keys without work take no memory. */
export interface KeyedMutex {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

export function createKeyedMutex(): KeyedMutex {
  const locks = new Map<string, { mutex: Mutex; waiting: number }>()
  return {
    async run(key, work) {
      const lock = locks.get(key) ?? { mutex: createMutex(), waiting: 0 }
      locks.set(key, lock)
      lock.waiting++
      try {
        return await lock.mutex.run(work)
      } finally {
        lock.waiting--
        if (lock.waiting === 0) locks.delete(key)
      }
    },
  }
}
