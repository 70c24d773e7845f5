import { randomUUIDv7 } from 'node:crypto'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { say, ScriptedModel } from '../../agent/scripted-model.ts'
import type { Agent } from '../../configuration/agent.ts'
import { localBus } from '../../replicas/bus.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { agentOf, keyOf, newRun } from '../process-fixture.ts'
import { runGone, type NewRun, type RunStore, type StoredRun } from '../run-store.ts'
import { createAdoption } from './adopt.ts'
import { createIntake } from '../intake/admission.ts'
import { LiveRun, stopSuperseded } from './live-run.ts'
import { createRunMutex, createRunRegistry } from './run-registry.ts'

const agent = agentOf({ model: new ScriptedModel(say('Hi')) })

async function storedRun(fence: number): Promise<StoredRun> {
  const store = new MemoryRunStore()
  await store.begin(newRun('r'))
  return { ...(await store.find(keyOf('r')))!, fence }
}

function liveRun(requestId: string): LiveRun {
  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun(requestId)
  return new LiveRun({ key: keyOf(requestId), sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 1 })
}

/** A store with runs of a process that died, in sessions of their own, and what a sweep of process `p1` did with them. */
async function setUp(runs: readonly NewRun[], current: Agent = agent) {
  const store = new MemoryRunStore()
  for (const run of runs) await store.begin(run)
  const done: string[] = []
  const published: unknown[] = []
  const sweep = (change: Partial<RunStore> = {}) =>
    createAdoption({
      store: Object.assign(store, change),
      registry: createRunRegistry({ bus: localBus, sleep: async () => undefined }),
      live: { launch: (run) => (done.push(`${run.key.requestId} launched`), run) },
      mutex: createRunMutex(),
      intake: createIntake(() => 1),
      agent: () => current,
      holder: 'p1',
      jobs: { wake: (...kinds) => void done.push(`wakes ${kinds.join()}`) },
      bus: { publish: (...event) => void published.push(event) },
      now: () => 5000,
      newId: randomUUIDv7,
      sleep: async () => undefined,
    }).adopt(0)
  return { store, done, published, sweep }
}

const lostRun = (requestId: string, change: Partial<NewRun> = {}) =>
  newRun(requestId, { holder: 'dead', sessionId: requestId, sessionKey: requestId, ...change })

test("runs that are not this process's any more are stopped: taken over, or their session deleted; others go on", async () => {
  const find: Record<string, () => Promise<StoredRun | undefined>> = {
    ours: () => storedRun(1),
    unknown: async () => undefined,
    unreachable: () => Promise.reject(new Error('The database is not there.')),
    taken: () => storedRun(2),
    deleted: () => Promise.reject(runGone(keyOf('deleted'))),
  }
  const runs = Object.keys(find).map((requestId) => liveRun(requestId))
  await stopSuperseded({ find: ({ requestId }) => find[requestId]!() }, runs)
  assert.deepEqual(
    runs.filter(({ stopCause }) => stopCause === 'superseded').map(({ key }) => key.requestId),
    ['taken', 'deleted'],
  )
})

test('a run is taken over when the tools are there, also where the process has just started', async () => {
  const settled = Promise.withResolvers<void>()
  const { done, sweep } = await setUp([lostRun('r')], { ...agent, tools: { ...agent.tools, settling: () => settled.promise } })
  const sweeping = sweep()
  setImmediate(() => {
    done.push('settled')
    settled.resolve()
  })
  await sweeping
  assert.deepEqual(done, ['settled', 'r launched'])
})

test('an async run that was lost goes back to the queue of all processes; another run is taken over', async () => {
  const event = { key: 'e', id: 'e', callbackUrl: undefined }
  const { store, done, sweep } = await setUp([lostRun('chain'), lostRun('chain_async', { operation: 'chain_async', event })])
  await store.claim({ ...keyOf('chain_async'), fence: 1 }, () => ({
    holder: 'dead',
    queueOrder: 1,
    now: 1,
    messages: newRun('r').messages,
  }))
  await sweep()
  assert.deepEqual(done, ['chain launched', 'wakes run'])
  assert.equal((await store.find(keyOf('chain_async')))?.holder, '')
})

test('processes that find many runs share them: each takes its part, calls the others, and looks again', async () => {
  const { store, done, published, sweep } = await setUp(Array.from({ length: 30 }, (_, n) => lostRun(`r${n}`)))
  const found: number[] = []
  const { orphans } = store
  await sweep({
    orphans: async (holder) => {
      const { runs } = await orphans(holder)
      found.push(runs.length)
      // The other processes take the rest meanwhile.
      return { runs: found.length === 1 ? runs : [], takers: 3 }
    },
  })
  assert.deepEqual({ found, doneCount: done.length }, { found: [30, 20], doneCount: 10 })
  assert.deepEqual(published, [['left', { holder: 'dead' }]])
})
