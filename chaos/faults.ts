import { setTimeout as sleep } from 'node:timers/promises'
import type { CutProxy } from './cut-proxy.ts'
import type { Outside } from './outside.ts'
import type { Replica } from './replica.ts'

/** What can go wrong, and with what. */
export interface Scene {
  replicas: readonly Replica[]
  /** The way of each replica to the database. */
  ways: readonly CutProxy[]
  outside: Outside
  restartPostgres(): Promise<void>
  /** Ends every connection to the database, at the server. */
  terminateBackends(): Promise<void>
  random(): number
  /** What must never be. */
  faults: string[]
}

type Fault = (scene: Scene, index: number) => Promise<void>

const faults: Record<string, Fault> = {
  'replica killed': async ({ replicas, random }, index) => {
    await replicas[index]!.end('SIGKILL')
    await sleep(random() * 3000)
    await replicas[index]!.start()
  },
  'replica stopped': async ({ replicas, faults }, index) => {
    const code = await replicas[index]!.end('SIGTERM')
    if (code !== 0) faults.push(`${replicas[index]!.name} ended with ${code} after SIGTERM.`)
    await replicas[index]!.start()
  },
  'replica frozen': async ({ replicas, random }, index) => {
    replicas[index]!.freeze()
    await sleep(3000 + random() * 15_000)
    replicas[index]!.goOn()
  },
  'database restarted': ({ restartPostgres }) => restartPostgres(),
  'connections ended': ({ terminateBackends }) => terminateBackends(),
  'connections cut': async ({ ways }, index) => ways[index]!.cut(),
  'network dropped': async ({ ways, random }, index) => {
    const ms = 2000 + random() * 15_000
    ways[index]!.drop(ms)
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
 * One fault after another, and often two at a time, until `until` (epoch milliseconds); each kind once before any comes again. Resolves
 * when everything is whole again, with how often each was made.
 */
export async function makeFaults(scene: Scene, until: number): Promise<Map<string, number>> {
  const made = new Map<string, number>()
  const busy = new Set<number>()
  const running = new Set<Promise<void>>()
  let order: string[] = []
  while (Date.now() < until) {
    await sleep(500 + scene.random() * 2000)
    if (order.length === 0) order = shuffled(Object.keys(faults), scene.random)
    const name = order.pop()!
    const free = scene.replicas.map((_, index) => index).filter((index) => !busy.has(index))
    const index = free[Math.floor(scene.random() * free.length)]
    // One replica at least is left as it is.
    if (index === undefined || free.length === 1) continue
    busy.add(index)
    made.set(name, (made.get(name) ?? 0) + 1)
    const one = faults[name]!(scene, index)
      .catch((error: unknown) => void scene.faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => {
        busy.delete(index)
        running.delete(one)
      })
    running.add(one)
  }
  await Promise.all(running)
  return made
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

/** Every replica stopped and started anew, one after another, again and again. */
export async function roll({ replicas, faults }: Pick<Scene, 'replicas' | 'faults'>, until: number): Promise<Map<string, number>> {
  let count = 0
  while (Date.now() < until) {
    for (const replica of replicas) {
      const code = await replica.end('SIGTERM')
      if (code !== 0) faults.push(`${replica.name} ended with ${code} after SIGTERM.`)
      await replica.start()
      count++
      await sleep(1000)
    }
  }
  return new Map([['replica stopped', count]])
}
