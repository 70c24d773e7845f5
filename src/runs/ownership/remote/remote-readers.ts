import type { Bus } from '../../../replicas/bus.ts'
import { runKeyText } from '../../run.ts'
import type { LiveRun } from '../live-run.ts'
import type { RunRegistry } from '../registry.ts'
import { Tail } from './tail.ts'
import type { TailBatch, TailStore } from './tail-store.ts'

interface RemoteReadersDependencies {
  registry: Pick<RunRegistry, 'find'>
  tails: TailStore
  bus: Bus
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  onFault(run: LiveRun, error: unknown): void
}

/** What all runs have told is written together, so often at most; a store that fails is asked again later. */
const writeEveryMs = 50
const retryMs = 500
/** What processes that died have left of runs that nobody reads any more is looked for so often. */
const sweepEveryMs = 60_000

/** Readers of this process's runs on other replicas: as long as there are some, what a run tells is written for them. */
export interface RemoteReaders {
  /** Serves nobody any more; resolves when nothing is left to be done in the store. */
  close(): Promise<void>
}

export function serveRemoteReaders({ registry, tails, bus, sleep, onFault }: RemoteReadersDependencies): RemoteReaders {
  const served = new Map<string, Tail>()
  const serving = new Set<Promise<void>>()
  const unwritten = new Set<Tail>()
  let writing: Promise<void> | undefined

  const onRead = bus.subscribe('read', ({ tenant, owner, requestId, reader, ...has }) => {
    const name = runKeyText({ tenant, owner, requestId })
    const run = registry.find({ tenant, owner, requestId })
    if (!run || run.log.ended) return
    const known = served.get(name)
    const tail = known?.run === run ? known : new Tail(run, () => wake(tail))
    tail.hear(reader, has)
    if (tail === known) return
    known?.close()
    served.set(name, tail)
    run.isWatched = true
    const done = serve(name, tail).finally(() => serving.delete(done))
    serving.add(done)
  })
  const onUnread = bus.subscribe('unread', ({ reader, ...key }) => served.get(runKeyText(key))?.leave(reader))
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

  // What is left now is left for a minute more.
  const sweeping = setInterval(() => void tails.sweep().catch(() => undefined), sweepEveryMs).unref()

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

  /** The first at once, the others together a little later. */
  async function write(): Promise<void> {
    while (unwritten.size > 0) {
      const those = [...unwritten].map((tail) => ({ tail, batches: tail.take() }))
      unwritten.clear()
      const tenants = Map.groupBy(those, ({ tail }) => tail.run.key.tenant)
      const written = await Promise.all([...tenants].map(([tenant, own]) => writeOf(tenant, own)))
      await sleep(written.every(Boolean) ? writeEveryMs : retryMs)
    }
  }

  async function writeOf(tenant: string, those: { tail: Tail; batches: TailBatch[] }[]): Promise<boolean> {
    const batches = those.flatMap((one) => one.batches)
    if (batches.length === 0) return true
    try {
      await tails.append(tenant, batches)
    } catch (error) {
      for (const one of those) {
        onFault(one.tail.run, error)
        one.tail.requeue(one.batches)
        if (served.get(runKeyText(one.tail.run.key)) === one.tail) unwritten.add(one.tail)
      }
      return false
    }
    for (const { tail, batches } of those) {
      const { key, fence } = tail.run
      bus.publish('readable', { ...key, fence, upTo: Math.max(...batches.map(({ last }) => last)) })
    }
    return true
  }

  return { close }
}
