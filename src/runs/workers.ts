/**
 * So many async runs run at a time; the others wait here at no cost. Those of one caller go in the order in which they came; among callers
 * the one goes next that has the fewest at work, so that nobody's burst holds up all others.
 */
export interface Workers {
  /** Resolves with what gives the place back; undefined when the signal is aborted first. `caller` is any text that names who asks. */
  take(caller: string, signal: AbortSignal): Promise<(() => void) | undefined>
}

interface Caller {
  busy: number
  waiting: Set<() => void>
}

/** `most` is asked each time: it may change. */
export function createWorkers(most: () => number): Workers {
  /** Whoever was served last stands last. */
  const callers = new Map<string, Caller>()
  let busy = 0

  function begin(name: string, caller: Caller): () => void {
    busy++
    caller.busy++
    callers.delete(name)
    callers.set(name, caller)
    let isGiven = false
    return () => {
      if (isGiven) return
      isGiven = true
      busy--
      caller.busy--
      forget(name, caller)
      next()
    }
  }

  function forget(name: string, { busy, waiting }: Caller): void {
    if (busy === 0 && waiting.size === 0) callers.delete(name)
  }

  function next(): void {
    while (busy < most()) {
      const caller = findNext()
      if (!caller) return
      const [start] = caller.waiting
      caller.waiting.delete(start!)
      start!()
    }
  }

  function findNext(): Caller | undefined {
    let found: Caller | undefined
    for (const caller of callers.values()) {
      if (caller.waiting.size > 0 && (!found || caller.busy < found.busy)) found = caller
    }
    return found
  }

  async function take(name: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined
    return new Promise((resolve) => {
      const caller = callers.get(name) ?? { busy: 0, waiting: new Set() }
      callers.set(name, caller)
      const start = (): void => {
        signal.removeEventListener('abort', leave)
        resolve(begin(name, caller))
      }
      const leave = (): void => {
        caller.waiting.delete(start)
        forget(name, caller)
        resolve(undefined)
      }
      caller.waiting.add(start)
      signal.addEventListener('abort', leave, { once: true })
      next()
    })
  }

  return { take }
}
