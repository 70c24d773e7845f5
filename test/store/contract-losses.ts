import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Checkpoint, OrphanedRun, NewRun, RunStore } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createProcessStore } from '../../src/store/leases/processes.ts'
import { endOf, failed, hour, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('runs that lose their process', registerLossContract)

/** How often in a row a run has lost its process. */
function registerLossContract(database: () => Database): void {
  const nothing: Checkpoint = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }

  function setUp() {
    const of = storeOf(database())
    const { store, tenant } = of
    const lost = async () => (await store.orphans('me', 0)).runs.find((run) => run.tenant === tenant)!
    const count = async () => (await lost()).losses?.count
    return { ...of, lost, count }
  }

  /** As a sweep does it, for a process that dies then. */
  async function takeLost(store: RunStore, lost: OrphanedRun, holder: string): Promise<number> {
    const taken = await store.takeOver(lost, { ...lost, graceMs: 0 }, { holder, queueOrder: 1, now: hour, messages: [] })
    return taken!.fence
  }

  test('each lost process without a checkpoint in between counts as a loss, and a checkpoint restarts the count', async () => {
    const { store, start, lost, count } = setUp()
    const { run } = await start({ holder: 'p1' })
    const counts = [await count()]
    for (const holder of ['p2', 'p3']) {
      await takeLost(store, await lost(), holder)
      counts.push(await count())
    }
    const fence = await takeLost(store, await lost(), 'p4')
    await store.checkpoint(run, fence, 1, nothing)
    counts.push(await count())
    assert.deepEqual(counts, [1, 2, 3, 1])
  })

  test('a released async run keeps its losses, and waiting for its session adds none', async () => {
    const { store, newRun, lost, count } = setUp()
    const run: NewRun = newRun({ operation: 'chain_async', event: { key: 'e', id: 'e', callbackUrl: undefined } })
    await store.begin(run)
    const takeUp = (fence: number) =>
      store.claim({ ...run, fence }, () => ({ holder: 'p1', queueOrder: 1, now: hour, messages: run.messages }))
    await takeUp(1)
    assert.equal(await count(), 1)
    const from = await lost()
    assert.equal(await store.release(run, { ...from, graceMs: 0 }, hour), true)
    await takeUp(3)
    assert.equal(await count(), 2)
    const waits = newRun({ sessionId: run.sessionId, holder: 'p1' })
    await store.begin(waits)
    const { runs } = await store.orphans('me', 0)
    assert.equal(runs.find(({ requestId }) => requestId === waits.requestId)!.losses, undefined)
  })

  test('runs handed over by a stopping process are not lost, and any process may take them at once', async () => {
    const { store, tenant, start, lost, count } = setUp()
    const processes = createProcessStore(database())
    const holder = `${tenant} stops`
    await processes.renew(holder, 60_000)
    await start({ holder })
    await processes.release(holder)
    assert.equal(await count(), undefined)
    await takeLost(store, await lost(), 'p2')
    assert.equal(await count(), 1)
  })

  test('losses of a process that was only cut off from the database are taken back', async () => {
    const { store, tenant, start, lost, count } = setUp()
    const holder = `${tenant} cut off`
    await start({ holder })
    await takeLost(store, await lost(), 'p2')
    assert.equal(await count(), 2)
    await createProcessStore(database()).forgive(holder)
    assert.equal(await count(), 1)
  })

  test('a repeated request of an ended run resets its losses', async () => {
    const { store, start, lost, count } = setUp()
    const { run, turn } = await start({ holder: 'p1' })
    const fence = await takeLost(store, await lost(), 'p2')
    await store.finish(run, fence, endOf(turn, failed))
    await store.takeOver(run, { fence, status: 'error' }, { holder: 'p3', queueOrder: 1, now: hour, messages: [] })
    assert.equal(await count(), 1)
  })
}
