import { callerKey, type Owner } from '../../access/owner.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { RunKey } from '../run.ts'
import type { LiveRun } from './live-run.ts'

/** A text that identifies a run, for the keys of maps. Request ids contain no control characters, so the text is unique. */
export function runKeyText(key: RunKey): string {
  return `${callerKey(key)}\n${key.requestId}`
}

interface RegistryDependencies {
  bus: Bus
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The runs in the memory of the local process. */
export interface RunRegistry {
  find(key: RunKey): LiveRun | undefined
  all(): LiveRun[]
  count(): number
  /** Runs without a last event in the log. */
  unended(): LiveRun[]
  ofSession(owner: Owner, sessionId: string): LiveRun[]
  add(run: LiveRun): void
  remove(run: LiveRun): void
  /** Resolves when a run with the key is added, another process publishes a change of the run, `ms` have passed, or `signal` is aborted. */
  waitForChange(key: RunKey, ms: number, signal?: AbortSignal): Promise<void>
  /** Ends all waits of `waitForChange`. */
  wakeAll(): void
}

export function createRunRegistry({ bus, sleep }: RegistryDependencies): RunRegistry {
  const runs = new Map<string, LiveRun>()
  const waiting = new Map<string, Set<() => void>>()

  bus.subscribe('moved', (key) => wake(runKeyText(key)))
  bus.onGap(wakeAll)

  function wake(name: string): void {
    for (const stopWaiting of waiting.get(name) ?? []) stopWaiting()
  }

  function wakeAll(): void {
    for (const name of waiting.keys()) wake(name)
  }

  async function waitForChange(key: RunKey, ms: number, signal?: AbortSignal): Promise<void> {
    const name = runKeyText(key)
    const changed = new AbortController()
    const stopWaiting = () => changed.abort()
    const waiters = waiting.get(name) ?? new Set()
    waiting.set(name, waiters.add(stopWaiting))
    await sleep(ms, signal ? AbortSignal.any([signal, changed.signal]) : changed.signal).catch(() => undefined)
    waiters.delete(stopWaiting)
    if (waiters.size === 0) waiting.delete(name)
  }

  return {
    find: (key) => runs.get(runKeyText(key)),
    all: () => [...runs.values()],
    count: () => runs.size,
    unended: () => [...runs.values()].filter(({ log }) => !log.ended),
    ofSession: ({ tenant, owner }, sessionId) =>
      [...runs.values()].filter((run) => run.sessionId === sessionId && run.key.tenant === tenant && run.key.owner === owner),
    add(run) {
      const name = runKeyText(run.key)
      runs.set(name, run)
      if (waiting.size > 0) wake(name)
    },
    remove(run) {
      // A run with the same key and another fence may have been added meanwhile.
      const name = runKeyText(run.key)
      if (runs.get(name) === run) runs.delete(name)
    },
    waitForChange,
    wakeAll,
  }
}

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

  function run<T>(key: RunKey, work: () => Promise<T>): Promise<T> {
    const name = runKeyText(key)
    if (holdings.has(name)) return whenFree(key).then(() => run(key, work))
    const working = work()
    holdings.set(name, { key, work: working })
    const free = () => holdings.delete(name)
    working.then(free, free)
    return working
  }

  return {
    run,
    isHeld: (key) => holdings.has(runKeyText(key)),
    whenFree,
    heldKeys: () => [...holdings.values()].map(({ key }) => key),
  }
}
