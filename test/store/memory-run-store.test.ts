import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { FenceLost, type Checkpoint, type NewRun, type QueueEnd, type RunStore, type TakeOver } from '../../src/runs/run-store.ts'
import { MemoryRunStore } from '../../src/runs/memory-run-store-fixture.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { ai, endOf, failed, hour, human, newRun } from './fixture.ts'

/** Unit tests of runs trust `MemoryRunStore`: each of these scenarios has the same answers from it as from the real store. */
const folder = mkdtempSync(path.join(os.tmpdir(), 'agent-core-memory-'))
const database = await openSqlite(folder)
after(async () => {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Scenario {
  store: RunStore
  /** A run with ids that are the same in both stores. */
  run(requestId: string, change?: Partial<NewRun>): NewRun & { fence: number }
  by(run: NewRun, holder?: string): TakeOver
}

const step: Checkpoint = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }
const event = { key: 'e', id: 'e', callbackUrl: undefined }
const refused = (error: unknown) => (error instanceof FenceLost ? 'fence lost' : error instanceof Error ? error.message : error)

/** Answers of the store, in order. */
const scenarios: Record<string, (scenario: Scenario) => Promise<unknown[]>> = {
  'a chat, a repeat, and a second chat in its queue': async ({ store, run }) => {
    const [first, second] = [run('1'), run('2', { messages: [human('two')] })]
    const begun = await store.begin(first)
    const turn = begun.kind === 'running' ? begun.turn : assert.fail()
    const answers: unknown[] = [
      begun,
      await store.begin(first),
      await store.begin(second),
      await store.takeTurn(second, second.messages, hour),
    ]
    answers.push(await store.unendedIn(first, 's'), await store.ownUnended('nobody'), await store.find(run('unknown')))
    answers.push(await store.finish(first, 1, endOf(turn, { checkpointId: 'c' })), await store.takeTurn(second, second.messages, hour + 1))
    answers.push(await store.history(first.tenant, turn.session, 0), await store.history(first.tenant, turn.session, 1, 1))
    return [...answers, await store.find(first), await store.find(second)]
  },
  'runs that leave the queue: forgotten, or kept with an end': async ({ store, run }) => {
    const runs = [run('1'), run('2'), run('3')]
    for (const each of runs) await store.begin(each)
    const [, second, third] = runs as [NewRun, NewRun & { fence: number }, NewRun & { fence: number }]
    const end: QueueEnd = { status: 'cancelled', continuable: false, error: undefined, log: { input: 'x', events: [] }, jobs: [] }
    const left = [await store.leaveQueue(second, hour), await store.leaveQueue(third, hour + 1, end)]
    return [...left, await store.find(second), await store.find(third), await store.leaveQueue(third, hour)]
  },
  'checkpoints, a lost fence, and a run that goes on in another process': async ({ store, run, by }) => {
    const first = run('1')
    const begun = await store.begin(first)
    await store.checkpoint(first, 1, 2, { ...step, iterations: 2 })
    await store.checkpoint(first, 1, 1, step)
    const taken = await store.takeOver(first, { fence: 1, status: 'running' }, by(first, 'p2'))
    const late = [store.checkpoint(first, 1, 3, step), store.finish(first, 1, endOf(begun.kind === 'running' ? begun.turn : assert.fail()))]
    const answers = [taken, ...(await Promise.all(late.map((work) => work.catch(refused)))), await store.checkpoints(first)]
    return [...answers, await store.takeOver(first, { fence: 1, status: 'running' }, by(first)), await store.find(first)]
  },
  'a run that failed is repeated, alone and behind another': async ({ store, run, by }) => {
    const first = run('1')
    const begun = await store.begin(first)
    const turn = begun.kind === 'running' ? begun.turn : assert.fail()
    const message = { ...ai('begun'), data: { requestId: '1' } }
    await store.finish(first, 1, endOf(turn, { ...failed, message, messageCount: 2 }))
    const answers: unknown[] = [await store.find(first), await store.takeOver(first, { fence: 1, status: 'error' }, by(first))]
    answers.push(await store.history(first.tenant, turn.session, 0), await store.find(first))
    await store.finish(first, 2, endOf(turn, failed))
    await store.begin(run('2'))
    answers.push(
      await store.takeOver(first, { fence: 2, status: 'error' }, by(first)),
      await store.leaveQueue({ ...first, fence: 3 }, hour),
    )
    return [...answers, await store.find(first)]
  },
  'an accepted run: claimed once, released, claimed again': async ({ store, run, by }) => {
    const first = run('1', { operation: 'chain_async', onDisconnect: 'continue', event })
    const answers: unknown[] = [
      await store.begin(first),
      await store.begin({ ...first, requestId: 'other' }),
      await store.findEvent(first, 'e'),
    ]
    answers.push(await store.find(first), await store.countUnclaimed(), await store.claim(first, () => by(first)))
    answers.push(await store.claim(first, () => by(first)), await store.release(first, { fence: 2, status: 'running' }, hour))
    answers.push(await store.find(first), await store.claim({ ...first, fence: 3 }, () => by(first)))
    return [...answers, await store.release(first, { fence: 2, status: 'running' }, hour), await store.find(first)]
  },
  'an interrupted run keeps its session, and can be taken over': async ({ store, run, by }) => {
    const first = run('1')
    const begun = await store.begin(first)
    const { session } = begun.kind === 'running' ? begun.turn : assert.fail()
    const interruption = { session, sessionId: 's', step: 1, data: step, log: { input: 'x', events: [] }, calls: [] }
    await store.interrupt(first, 1, { ...interruption, ranMs: 5, now: hour, expiresAt: hour, jobs: [] })
    const answers: unknown[] = [await store.find(first), await store.begin(run('2')).catch(refused), await store.decisions(first)]
    answers.push(await store.interrupt(first, 1, { ...interruption, ranMs: 5, now: hour, expiresAt: hour, jobs: [] }).catch(refused))
    return [...answers, await store.takeOver(first, { fence: 1, status: 'interrupted' }, by(first)), await store.find(first)]
  },
  'owners of a request id': async ({ store, run }) => {
    for (const owner of ['a x', 'b x', 'b y']) await store.begin(run('1', { owner, sessionKey: randomUUID() }))
    const key = run('1', { owner: 'b x' })
    const none = { issuer: undefined, sub: undefined }
    const owners = [store.ownersOf(key, none), store.ownersOf(key, { ...none, issuer: 'b' }), store.ownersOf(key, { ...none, sub: 'y' })]
    return Promise.all(owners)
  },
  'a tool execution is no run': async ({ store, run, by }) => {
    const first = run('1', { operation: 'tool_execute' })
    await store.begin(first)
    const answers: unknown[] = [await store.find(first), await store.takeOver(first, { fence: 1, status: 'running' }, by(first))]
    return [...answers, await store.checkpoint(first, 1, 1, step).catch(refused), await store.ownUnended(first.holder)]
  },
}

async function answersOf(store: RunStore, play: (scenario: Scenario) => Promise<unknown[]>, tenant: string): Promise<unknown[]> {
  let order = 0
  const run: Scenario['run'] = (requestId, change) =>
    newRun({ tenant, requestId, sessionKey: `${tenant} k`, holder: `${tenant} p1`, queueOrder: ++order, ...change })
  const by: Scenario['by'] = ({ queueOrder, messages }, holder = 'p2') => ({ holder, queueOrder, now: hour + 7, messages })
  return play({ store, run, by })
}

for (const [title, play] of Object.entries(scenarios)) {
  test(`the run store in memory answers as the real one: ${title}`, async () => {
    const tenant = randomUUID()
    const real = await answersOf(createRunStore(database), play, tenant)
    assert.deepEqual(await answersOf(new MemoryRunStore(), play, tenant), real)
  })
}
