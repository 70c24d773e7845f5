import type { Bus } from '../../replicas/bus.ts'
import type { RunKey } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'

/** A direct execution that callers wait for. */
export interface AwaitedExecution {
  /** Counts a caller; the returned function says that the caller has left. */
  enter(): () => void
}

interface RemoteExecutionsDependencies {
  bus: Bus
  newId(): string
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** An execution of the local process. */
  find(key: RunKey): AwaitedExecution | undefined
}

/** Direct executions that callers on other replicas wait for. */
export interface RemoteExecutions {
  /**
   * Resolves when an execution of another process may have ended, or `disconnected` is aborted. Until then the other process counts this
   * process as a caller of the execution.
   */
  waitForEnd(key: RunKey, disconnected: AbortSignal): Promise<void>
  /** Publishes that an execution of the local process has ended. */
  ended(key: RunKey): void
}

interface RemoteCaller {
  leave(): void
  expiry: NodeJS.Timeout
}

/** Messages on the bus may get lost: the store is asked this often. A process that waits publishes this as often. */
const pollMs = 1000
/** A process that has not published for this long does not wait any more. */
const callerExpiryMs = 10_000

export function createRemoteExecutions({ bus, newId, sleep, find }: RemoteExecutionsDependencies): RemoteExecutions {
  /** Processes that wait for executions of the local process, by the text of the key and by the id of the process. */
  const remoteCallers = new Map<string, Map<string, RemoteCaller>>()
  const waiting = new Map<string, Set<() => void>>()
  /** This process as a caller of executions in other processes. */
  const ownReader = newId()

  bus.subscribe('moved', (key) => waiting.get(runKeyText(key))?.forEach((stopWaiting) => stopWaiting()))
  bus.subscribe('read', ({ reader, ...key }) => {
    const execution = find(key)
    if (!execution) return
    const name = runKeyText(key)
    const callers = remoteCallers.get(name) ?? new Map<string, RemoteCaller>()
    remoteCallers.set(name, callers)
    const caller = callers.get(reader)
    clearTimeout(caller?.expiry)
    const expiry = setTimeout(() => leave(name, reader), callerExpiryMs).unref()
    callers.set(reader, { leave: caller?.leave ?? execution.enter(), expiry })
  })
  bus.subscribe('unread', ({ reader, ...key }) => leave(runKeyText(key), reader))

  function leave(name: string, reader: string): void {
    const caller = remoteCallers.get(name)?.get(reader)
    clearTimeout(caller?.expiry)
    caller?.leave()
    remoteCallers.get(name)?.delete(reader)
  }

  async function waitForEnd(key: RunKey, disconnected: AbortSignal): Promise<void> {
    const name = runKeyText(key)
    const moved = new AbortController()
    const stopWaiting = () => moved.abort()
    const waiters = waiting.get(name) ?? new Set()
    waiting.set(name, waiters.add(stopWaiting))
    bus.publish('read', { ...key, reader: ownReader, fence: 0, after: 0 })
    await sleep(pollMs, AbortSignal.any([disconnected, moved.signal])).catch(() => undefined)
    waiters.delete(stopWaiting)
    if (waiters.size === 0) waiting.delete(name)
    if (disconnected.aborted) bus.publish('unread', { ...key, reader: ownReader })
  }

  function ended(key: RunKey): void {
    const name = runKeyText(key)
    const callers = remoteCallers.get(name)
    if (!callers) return
    for (const reader of [...callers.keys()]) leave(name, reader)
    remoteCallers.delete(name)
    bus.publish('moved', key)
  }

  return { waitForEnd, ended }
}

/** Counts the callers that wait for an execution; `stop` is called when the last caller leaves. */
export function countCallers(stop: () => void): AwaitedExecution {
  let callers = 0
  return {
    enter() {
      callers++
      return () => {
        callers--
        if (callers === 0) stop()
      }
    },
  }
}
