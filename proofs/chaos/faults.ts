import { setTimeout as sleep } from 'node:timers/promises'
import type { CutProxy } from './cut-proxy.ts'
import type { History } from './history/history.ts'
import type { Outside } from './outside.ts'
import type { Replica } from './replica.ts'

/** Targets of the faults. */
export interface Scene {
  replicas: readonly Replica[]
  /** Proxy between each replica and the database, by index of the replica. */
  proxies: readonly CutProxy[]
  outside: Outside
  /** `awayMs`: how long the server is away. */
  restartPostgres(awayMs?: number): Promise<void>
  /** Terminates all database connections at the server. */
  terminateBackends(): Promise<void>
  random(): number
  history: History
  /** Violated guarantees, as texts. */
  violations: string[]
}

/** A fault of one replica. Faults of one replica never overlap. */
type ReplicaFault = (scene: Scene, index: number) => Promise<void>
/** A fault of the database or the model. */
type SharedFault = (scene: Scene) => Promise<void>

const replicaFaults: Record<string, ReplicaFault> = {
  'replica killed': async ({ replicas, random }, index) => {
    await replicas[index]!.end('SIGKILL')
    await sleep(random() * 1500)
    await replicas[index]!.start()
  },
  'replica stopped': async ({ replicas, violations }, index) => {
    const code = await replicas[index]!.end('SIGTERM')
    if (code !== 0) violations.push(`${replicas[index]!.name} ended with ${code} after SIGTERM.`)
    await replicas[index]!.start()
  },
  'replica frozen': async ({ replicas, random }, index) => {
    replicas[index]!.freeze()
    await sleep(3000 + random() * 15_000)
    replicas[index]!.resume()
  },
  'connections cut': async ({ proxies }, index) => proxies[index]!.cut(),
  'answers lost': async ({ proxies, random }, index) => {
    const ms = 500 + random() * 1500
    proxies[index]!.loseAnswers(ms)
    await sleep(ms)
  },
  'network dropped': async ({ proxies, random }, index) => {
    const ms = 2000 + random() * 15_000
    proxies[index]!.drop(ms)
    await sleep(ms)
  },
  // Longer than the service looks for the outcome of a commit.
  'replica isolated': async ({ proxies, random }, index) => {
    const ms = 16_000 + random() * 4000
    proxies[index]!.isolate(ms)
    await sleep(ms)
  },
}

const sharedFaults: Record<string, SharedFault> = {
  'database restarted': ({ restartPostgres }) => restartPostgres(),
  'connections ended': ({ terminateBackends }) => terminateBackends(),
  'model failing': ({ outside, random }) => misbehave(outside, 'fails', random),
  'model breaking off': ({ outside, random }) => misbehave(outside, 'breaks', random),
}

/** In every third round, because nothing works meanwhile: longer than the service looks for the outcome of a commit. */
const longFaults: Record<string, SharedFault> = {
  'database away': async ({ proxies, random }) => {
    const ms = 16_000 + random() * 4000
    for (const proxy of proxies) proxy.isolate(ms)
    await sleep(ms)
  },
  // Connections are refused, so that queries fail in place of waiting.
  'database stopped': ({ restartPostgres, random }) => restartPostgres(16_000 + random() * 4000),
}
const roundsPerLongFault = 3

async function misbehave(outside: Outside, mode: 'fails' | 'breaks', random: () => number): Promise<void> {
  outside.setModel(mode)
  await sleep(500 + random() * 5000)
  outside.setModel('well')
}

/** Kills are the most frequent fault, because kills reach the most states. */
const round = [...Object.keys(replicaFaults), ...Object.keys(sharedFaults), ...Array.from({ length: 9 }, () => 'replica killed')]

/**
 * Injects faults, often two at a time, until `until` (epoch milliseconds). Each kind is used before any kind is repeated. Resolves with the
 * number of faults by kind when all faults are over.
 */
export async function makeFaults(scene: Scene, until: number): Promise<Map<string, number>> {
  const faultCounts = new Map<string, number>()
  const busy = new Set<number>()
  const running = new Set<Promise<void>>()
  let order: string[] = []
  let rounds = 0
  while (Date.now() < until) {
    await sleep(200 + scene.random() * 1300)
    if (order.length === 0)
      order = shuffled(++rounds % roundsPerLongFault === 0 ? [...round, ...Object.keys(longFaults)] : round, scene.random)
    const name = order.at(-1)!
    const free = scene.replicas.map((_, index) => index).filter((index) => !busy.has(index))
    const isShared = name in sharedFaults || name in longFaults
    const index = isShared ? undefined : free[Math.floor(scene.random() * free.length)]
    // At least one replica stays untouched.
    if (!isShared && (index === undefined || free.length === 1)) continue
    order.pop()
    if (index !== undefined) busy.add(index)
    faultCounts.set(name, (faultCounts.get(name) ?? 0) + 1)
    const activeFault = injectFault(name, index, scene).finally(() => {
      if (index !== undefined) busy.delete(index)
      running.delete(activeFault)
    })
    running.add(activeFault)
  }
  await Promise.all(running)
  return faultCounts
}

/** Injects a fault, and records the duration. `index`: the replica, for a fault of a single replica. */
export async function injectFault(name: string, index: number | undefined, scene: Scene): Promise<void> {
  const replica = index === undefined ? undefined : scene.replicas[index]!.name
  await scene.history.record('faults', 'fault', { name, replica }, async () => {
    try {
      await (index === undefined ? (sharedFaults[name] ?? longFaults[name]!)(scene) : replicaFaults[name]!(scene, index))
    } catch (error) {
      scene.violations.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
    return { result: 'ok' }
  })
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Restarts the replicas one after another until `until` (epoch milliseconds). Resolves with the number of restarts. */
export async function roll(scene: Scene, until: number): Promise<Map<string, number>> {
  let count = 0
  while (Date.now() < until) {
    for (const index of scene.replicas.keys()) {
      await injectFault('replica stopped', index, scene)
      count++
      await sleep(1000)
    }
  }
  return new Map([['replica stopped', count]])
}
