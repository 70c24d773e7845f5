import type { Bus } from '../../../replicas/bus.ts'
import { runKeyText } from '../run-registry.ts'
import type { LiveRun } from '../live-run.ts'
import type { RunRegistry } from '../run-registry.ts'
import { Tail, type TailBatch, type TailStore } from './tail.ts'
import { reachState } from '../../../states.ts'

interface RemoteReadersDependencies {
  registry: Pick<RunRegistry, 'find'>
  tails: TailStore
  bus: Bus
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  onFault(run: LiveRun, error: unknown): void
}

/** The events of all runs are written together, at most at this interval; after a failure, the write is retried. */
const writeIntervalMs = 50
const retryMs = 500
/** Interval at which tails that dead processes left in the store are removed. */
const sweepIntervalMs = 60_000

/** Serves readers on other replicas: while a local run has such readers, the events of the run are written to the store. */
export interface RemoteReaders {
  /** Stops serving. Resolves when the last write to the store has ended. */
  close(): Promise<void>
}

export function serveRemoteReaders({ registry, tails, bus, sleep, onFault }: RemoteReadersDependencies): RemoteReaders {
  const served = new Map<string, Tail>()
  const serving = new Set<Promise<void>>()
  const unwritten = new Set<Tail>()
  let writing: Promise<void> | undefined

  const onRead = bus.subscribe('read', ({ tenant, owner, requestId, reader, ...position }) => {
    const name = runKeyText({ tenant, owner, requestId })
    const run = registry.find({ tenant, owner, requestId })
    if (!run || run.log.ended) return
    const servedTail = served.get(name)
    const tail = servedTail?.run === run ? servedTail : new Tail(run, () => wake(tail))
    tail.addReader(reader, position)
    if (tail === servedTail) return
    servedTail?.close()
    served.set(name, tail)
    run.isWatched = true
    const done = serve(name, tail).finally(() => serving.delete(done))
    serving.add(done)
  })
  const onUnread = bus.subscribe('unread', ({ reader, ...key }) => served.get(runKeyText(key))?.removeReader(reader))
  const listening = [onRead, onUnread]

  async function serve(name: string, tail: Tail): Promise<void> {
    const { run } = tail
    await tail.follow()
    tail.close()
    unwritten.delete(tail)
    if (served.get(name) !== tail) return
    served.delete(name)
    await writing
    if (!served.has(name)) await tails.remove(run.key).catch((error: unknown) => onFault(run, error))
  }

  // A tail that could not be removed is removed by the next sweep.
  const sweeping = setInterval(() => void tails.sweep().catch(() => undefined), sweepIntervalMs).unref()

  async function close(): Promise<void> {
    clearInterval(sweeping)
    for (const stop of listening) stop()
    for (const tail of served.values()) tail.close()
    await Promise.all(serving)
  }

  function wake(tail: Tail): void {
    unwritten.add(tail)
    writing ??= write().finally(() => (writing = undefined))
  }

  /** Writes the first events at once, and all later events at the interval. */
  async function write(): Promise<void> {
    while (unwritten.size > 0) {
      const pending = [...unwritten].map((tail) => ({ tail, batches: tail.take() }))
      unwritten.clear()
      const tenants = Map.groupBy(pending, ({ tail }) => tail.run.key.tenant)
      const written = await Promise.all([...tenants].map(([tenant, tails]) => writeTails(tenant, tails)))
      await sleep(written.every(Boolean) ? writeIntervalMs : retryMs)
    }
  }

  async function writeTails(tenant: string, pending: { tail: Tail; batches: TailBatch[] }[]): Promise<boolean> {
    const batches = pending.flatMap((entry) => entry.batches)
    if (batches.length === 0) return true
    try {
      await tails.append(tenant, batches)
    } catch (error) {
      reachState('tail-fault')
      for (const { tail, batches } of pending) {
        onFault(tail.run, error)
        tail.requeue(batches)
        if (served.get(runKeyText(tail.run.key)) === tail) unwritten.add(tail)
      }
      return false
    }
    for (const { tail, batches } of pending) {
      const { key, fence } = tail.run
      bus.publish('readable', { ...key, fence, upTo: Math.max(...batches.map(({ last }) => last)) })
    }
    return true
  }

  return { close }
}
