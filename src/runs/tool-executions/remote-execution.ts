import type { Bus } from '../../replicas/bus.ts'
import { runKeyText, type RunKey } from '../run.ts'

/** A direct execution that callers wait for. */
export interface AwaitedExecution {
  /** Somebody waits for it; the returned function says that they left. */
  enter(): () => void
}

interface RemoteExecutionsDependencies {
  bus: Bus
  newId(): string
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** One that runs in this process. */
  find(key: RunKey): AwaitedExecution | undefined
}

/** Direct executions that callers on other replicas wait for. */
export interface RemoteExecutions {
  /** Resolves when one that runs in another process may have ended, or `left` is aborted. It counts as waited for until then. */
  next(key: RunKey, left: AbortSignal): Promise<void>
  /** One of this process has ended. */
  ended(key: RunKey): void
}

/** News may get lost: so often it is looked for. */
const lookEveryMs = 1000
/** Who waits says so as often; who has not for so long is gone. */
const waiterLastsMs = 10_000

export function createRemoteExecutions({ bus, newId, sleep, find }: RemoteExecutionsDependencies): RemoteExecutions {
  /** Those of this process that somebody elsewhere waits for: when each of them is gone. */
  const waited = new Map<string, Map<string, { leave(): void; lapse: NodeJS.Timeout }>>()
  const waiting = new Map<string, Set<() => void>>()
  /** This process, as one that waits. */
  const reader = newId()

  bus.subscribe('moved', (key) => waiting.get(runKeyText(key))?.forEach((tell) => tell()))
  bus.subscribe('read', ({ reader, ...key }) => {
    const one = find(key)
    if (!one) return
    const name = runKeyText(key)
    const readers = waited.get(name) ?? new Map<string, { leave(): void; lapse: NodeJS.Timeout }>()
    waited.set(name, readers)
    const known = readers.get(reader)
    clearTimeout(known?.lapse)
    readers.set(reader, { leave: known?.leave ?? one.enter(), lapse: setTimeout(() => leave(name, reader), waiterLastsMs).unref() })
  })
  bus.subscribe('unread', ({ reader, ...key }) => leave(runKeyText(key), reader))

  function leave(name: string, reader: string): void {
    const known = waited.get(name)?.get(reader)
    clearTimeout(known?.lapse)
    known?.leave()
    waited.get(name)?.delete(reader)
  }

  async function next(key: RunKey, left: AbortSignal): Promise<void> {
    const name = runKeyText(key)
    const heard = new AbortController()
    const tell = () => heard.abort()
    const others = waiting.get(name) ?? new Set()
    waiting.set(name, others.add(tell))
    bus.publish('read', { ...key, reader, fence: 0, after: 0 })
    await sleep(lookEveryMs, AbortSignal.any([left, heard.signal])).catch(() => undefined)
    others.delete(tell)
    if (others.size === 0) waiting.delete(name)
    if (left.aborted) bus.publish('unread', { ...key, reader })
  }

  function ended(key: RunKey): void {
    const name = runKeyText(key)
    if (!waited.has(name)) return
    for (const reader of [...waited.get(name)!.keys()]) leave(name, reader)
    waited.delete(name)
    bus.publish('moved', key)
  }

  return { next, ended }
}
