/** So many async runs run at a time; the others wait here, in the order in which they came, at no cost. */
export interface Workers {
  /** Resolves with what gives the place back; undefined when the signal is aborted first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>
}

/** `most` is asked each time: it may change. */
export function createWorkers(most: () => number): Workers {
  const waiting = new Set<() => void>()
  let busy = 0

  function begin(): () => void {
    busy++
    let isGiven = false
    return () => {
      if (isGiven) return
      isGiven = true
      busy--
      next()
    }
  }

  function next(): void {
    for (const start of waiting) {
      if (busy >= most()) return
      waiting.delete(start)
      start()
    }
  }

  async function take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined
    if (waiting.size === 0 && busy < most()) return begin()
    return new Promise((resolve) => {
      const start = (): void => {
        signal.removeEventListener('abort', leave)
        resolve(begin())
      }
      const leave = (): void => {
        waiting.delete(start)
        resolve(undefined)
      }
      waiting.add(start)
      signal.addEventListener('abort', leave, { once: true })
      next()
    })
  }

  return { take }
}
