import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FenceLost, type Interruption, type RunStore } from '../../src/runs/run-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { endOf, hour, human, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('direct tool executions are no runs', registerToolExecutions)

const step = { messages: [], iterations: 1, events: [], usage: { models: [], thoughts: [] } }

function registerToolExecutions(database: () => Database): void {
  test('each function of the run store that is asked for the id of a tool execution finds and changes nothing', async () => {
    const { store, newRun, tenant } = storeOf(database())
    const run = newRun({ holder: `${tenant} p1` })
    const held = { tenant, owner: run.owner, requestId: run.requestId, fence: 1 }
    const executions = createExecutionStore(database())
    await executions.begin({ ...held, sessionId: 's', bodyHash: 'hash', holder: run.holder, agent: 'agent', now: hour })
    const before = await executions.find(held)
    const by = { holder: 'p2', queueOrder: 1, now: hour, messages: run.messages }
    const turn = { session: 'k', messageIndex: 0, messageCount: 1, windowStart: 0 }
    const interruption: Interruption = {
      session: 'k',
      sessionId: 's',
      step: 1,
      data: step,
      log: { input: '', events: [] },
      calls: [],
      ranMs: 1,
      now: hour,
      expiresAt: hour + 1,
      jobs: [],
    }
    const ofTenant = (keys: { tenant: string }[]) => keys.filter((key) => key.tenant === tenant)
    const nothing = undefined
    // One entry for each function: a new one does not compile without.
    const answers: Record<keyof RunStore, () => Promise<void>> = {
      // These two state that the request id is taken.
      begin: async () => assert.equal((await store.begin(run)).kind, 'known'),
      findRequest: async () => assert.equal((await store.findRequest(held))?.operation, 'tool_execute'),
      find: async () => assert.equal(await store.find(held), nothing),
      findEvent: async () => assert.equal(await store.findEvent(held, run.requestId), nothing),
      ownersOf: async () => assert.deepEqual(await store.ownersOf(held, { issuer: nothing, sub: nothing }), []),
      takeTurn: async () => assert.equal(await store.takeTurn(held, [human('x')], hour), nothing),
      leaveQueue: async () => assert.equal(await store.leaveQueue(held, hour), nothing),
      claim: async () => assert.equal(await store.claim(held, () => by), nothing),
      takeOver: async () => assert.equal(await store.takeOver(held, { fence: 1, status: 'running' }, by), nothing),
      release: async () => assert.equal(await store.release(held, { fence: 1, status: 'running' }, hour), false),
      addMissingJobs: () => store.addMissingJobs(hour),
      countUnclaimed: async () => void (await store.countUnclaimed()),
      history: async () => assert.deepEqual(await store.history(tenant, 's', 0), []),
      historyOfRun: async () => assert.deepEqual(await store.historyOfRun(held, turn, 0), []),
      images: async () => assert.equal((await store.images(tenant, 's', [held.requestId])).size, 0),
      mediaBytes: async () => assert.equal((await store.mediaBytes(tenant, 's', [{ requestId: held.requestId, n: 0 }])).size, 0),
      keepResultImages: () => assert.rejects(store.keepResultImages(held, 1, 's', []), FenceLost),
      checkpoint: () => assert.rejects(store.checkpoint(held, 1, 1, step), FenceLost),
      addMessage: async () => assert.equal(await store.addMessage(held, { id: 'm1', mode: 'steer', text: 'x', now: hour }), nothing),
      openMessages: async () => assert.deepEqual(await store.openMessages(held), []),
      findMessage: async () => assert.equal(await store.findMessage(held, 'm1'), nothing),
      activeRun: async () => assert.equal(await store.activeRun(held, run.sessionId), nothing),
      messagesTo: async () => assert.deepEqual(await store.messagesTo(held), []),
      checkpoints: async () => assert.deepEqual(await store.checkpoints(held), []),
      interrupt: () => assert.rejects(store.interrupt(held, 1, interruption), FenceLost),
      decisions: async () => assert.equal((await store.decisions(held)).size, 0),
      startApproved: () => assert.rejects(store.startApproved(held, 1, 'c', hour), FenceLost),
      finish: () => assert.rejects(store.finish(held, 1, endOf(turn)), FenceLost),
      orphans: async () => assert.deepEqual(ofTenant((await store.orphans('p2', 0)).runs), []),
      ownUnended: async () => assert.deepEqual(ofTenant(await store.ownUnended(run.holder)), []),
      unendedIn: async () => assert.deepEqual(await store.unendedIn(held, 's'), []),
    }
    for (const [name, ask] of Object.entries(answers)) {
      await ask()
      assert.deepEqual(await executions.find(held), before, name)
    }
  })
}
