import { setTimeout as sleep } from 'node:timers/promises'
import type { CutProxy } from './cut-proxy.ts'
import type { Outside } from './outside.ts'
import type { Replica } from './replica.ts'

/** Targets of the faults. */
export interface Scene {
  replicas: readonly Replica[]
  /** Proxy between each replica and the database, by index of the replica. */
  proxies: readonly CutProxy[]
  outside: Outside
  restartPostgres(): Promise<void>
  /** Terminates all database connections at the server. */
  terminateBackends(): Promise<void>
  random(): number
  /** Violated guarantees, as texts. */
  violations: string[]
}

type Fault = (scene: Scene, index: number) => Promise<void>

const faults: Record<string, Fault> = {
  'replica killed': async ({ replicas, random }, index) => {
    await replicas[index]!.end('SIGKILL')
    await sleep(random() * 3000)
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
  'database restarted': ({ restartPostgres }) => restartPostgres(),
  'connections ended': ({ terminateBackends }) => terminateBackends(),
  'connections cut': async ({ proxies }, index) => proxies[index]!.cut(),
  'network dropped': async ({ proxies, random }, index) => {
    const ms = 2000 + random() * 15_000
    proxies[index]!.drop(ms)
    await sleep(ms)
  },
  'model failing': ({ outside, random }) => misbehave(outside, 'fails', random),
  'model breaking off': ({ outside, random }) => misbehave(outside, 'breaks', random),
}

async function misbehave(outside: Outside, mode: 'fails' | 'breaks', random: () => number): Promise<void> {
  outside.setModel(mode)
  await sleep(500 + random() * 2500)
  outside.setModel('well')
}

/**
 * Injects faults, often two at a time, until `until` (epoch milliseconds). Each kind is used before any kind is repeated. Resolves with the
 * number of faults by kind when all faults are over.
 */
export async function makeFaults(scene: Scene, until: number): Promise<Map<string, number>> {
  const faultCounts = new Map<string, number>()
  const busy = new Set<number>()
  const running = new Set<Promise<void>>()
  let order: string[] = []
  while (Date.now() < until) {
    await sleep(500 + scene.random() * 2000)
    if (order.length === 0) order = shuffled(Object.keys(faults), scene.random)
    const name = order.pop()!
    const free = scene.replicas.map((_, index) => index).filter((index) => !busy.has(index))
    const index = free[Math.floor(scene.random() * free.length)]
    // At least one replica stays untouched.
    if (index === undefined || free.length === 1) continue
    busy.add(index)
    faultCounts.set(name, (faultCounts.get(name) ?? 0) + 1)
    const activeFault = faults[name]!(scene, index)
      .catch((error: unknown) => void scene.violations.push(`${name}: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => {
        busy.delete(index)
        running.delete(activeFault)
      })
    running.add(activeFault)
  }
  await Promise.all(running)
  return faultCounts
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Restarts the replicas one after another until `until` (epoch milliseconds). Resolves with the number of restarts. */
export async function roll({ replicas, violations }: Pick<Scene, 'replicas' | 'violations'>, until: number): Promise<Map<string, number>> {
  let count = 0
  while (Date.now() < until) {
    for (const replica of replicas) {
      const code = await replica.end('SIGTERM')
      if (code !== 0) violations.push(`${replica.name} ended with ${code} after SIGTERM.`)
      await replica.start()
      count++
      await sleep(1000)
    }
  }
  return new Map([['replica stopped', count]])
}
