import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../configuration/agent.ts'
import { localBus } from '../../replicas/bus.ts'
import { createAdoption } from './adopt.ts'
import type { LiveRuns } from './live-runs.ts'
import type { LiveRun } from './live-run.ts'
import type { RunKey } from '../run.ts'
import { gone, type RunStore, type StoredRun } from '../run-store.ts'
import { stopLost } from './stop-lost.ts'

const around = { holder: 'h', bus: localBus, sleep: async () => undefined }

test("runs that are not this process's any more are stopped: taken over, or their session deleted; others go on", async () => {
  const stored: Record<string, () => Promise<StoredRun | undefined>> = {
    ours: async () => ({ fence: 1 }) as StoredRun,
    unknown: async () => undefined,
    unreachable: () => Promise.reject(new Error('The database is not there.')),
    taken: async () => ({ fence: 2 }) as StoredRun,
    deleted: () => Promise.reject(gone({ tenant: 't', owner: 'o', requestId: 'deleted' })),
  }
  const stopped: string[] = []
  const runs = Object.keys(stored).map((requestId) => {
    const key: RunKey = { tenant: 't', owner: 'o', requestId }
    return { key, fence: 1, stop: () => void stopped.push(requestId) } as unknown as LiveRun
  })
  await stopLost({ find: ({ requestId }) => stored[requestId]!() }, runs)
  assert.deepEqual(stopped, ['taken', 'deleted'])
})

test('a run is taken up when the tools are there, also where the process has just started', async () => {
  const done: string[] = []
  const run = { tenant: 't', owner: 'o', requestId: 'r', request: { messages: [], filters: [], headers: {} } } as unknown as StoredRun
  const store = {
    orphans: async () => ({ runs: [run], takers: 1 }),
    ownUnended: async () => [],
    takeOver: async () => void done.push('taken'),
  } as unknown as RunStore
  const settled = Promise.withResolvers<void>()
  const agent = { tools: { settling: () => settled.promise } } as unknown as Agent
  const live = { find: () => undefined, all: () => [] } as unknown as LiveRuns
  const own = { ...around, isBusy: () => false, nextPlace: () => 1, jobs: { wake: () => undefined }, now: () => 1 }
  const adopting = createAdoption({ ...own, store, live, agent: () => agent }).adopt(0)
  setImmediate(() => {
    done.push('settled')
    settled.resolve()
  })
  await adopting
  assert.deepEqual(done, ['settled', 'taken'])
})

test('an async run that was lost is put back for all who work on such; another is taken over', async () => {
  const done: string[] = []
  const request = { messages: [], filters: [], headers: {} }
  const runs = ['chain', 'chain_async'].map((operation) => ({ tenant: 't', owner: 'o', requestId: operation, operation, request }))
  let looks = 0
  const store = {
    orphans: async () => ({ runs: looks++ === 0 ? runs : [], takers: 1 }),
    ownUnended: async () => [],
    takeOver: async ({ requestId }: RunKey) => void done.push(`${requestId} taken`),
    putBack: async ({ requestId }: RunKey) => (done.push(`${requestId} back`), true),
  } as unknown as RunStore
  const agent = { tools: { settling: () => undefined } } as unknown as Agent
  const live = { find: () => undefined, all: () => [] } as unknown as LiveRuns
  const jobs = { wake: (...kinds: string[]) => void done.push(`wakes ${kinds.join()}`) }
  const own = { ...around, isBusy: () => false, nextPlace: () => 1, now: () => 1 }
  await createAdoption({ ...own, store, live, jobs, agent: () => agent }).adopt(0)
  assert.deepEqual(done, ['chain taken', 'chain_async back', 'wakes run'])
})

test('processes that find many runs share them: each takes its part, calls the others, and looks again', async () => {
  const left = new Set(Array.from({ length: 30 }, (_, n) => `r${n}`))
  const request = { messages: [], filters: [], headers: {} }
  const taken: string[] = []
  const looks: number[] = []
  const told: unknown[] = []
  const store = {
    orphans: async () => {
      looks.push(left.size)
      const runs = [...left].map((requestId) => ({ tenant: 't', owner: 'o', requestId, holder: 'dead', operation: 'chain', request }))
      return { runs, takers: 3 }
    },
    ownUnended: async () => [],
    takeOver: async ({ requestId }: RunKey) => (taken.push(requestId), void left.delete(requestId)),
  } as unknown as RunStore
  const agent = { tools: { settling: () => undefined } } as unknown as Agent
  const live = { find: () => undefined, all: () => [] } as unknown as LiveRuns
  const bus = { publish: (...message: unknown[]) => void told.push(message) }
  const own = { ...around, bus, isBusy: () => false, nextPlace: () => 1, jobs: { wake: () => undefined }, now: () => 5000 }
  await createAdoption({ ...own, store, live, agent: () => agent }).adopt(0)
  assert.deepEqual([looks, taken.length], [[30], 10])
  assert.deepEqual(told, [['left', { holder: 'dead' }]])
})
