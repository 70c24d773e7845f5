import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SubAgent } from '../../src/sub-agents/sub-agent-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createSubAgentStore } from '../../src/store/configuration/sub-agents.ts'
import { hour } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('sub-agents', registerSubAgentContract)

function made(change: Partial<SubAgent> = {}): SubAgent {
  return {
    ...{ id: randomUUID(), name: 'researcher', description: 'Finds.', objective: 'Find.', tools: ['a', 'b:c'], workflowType: 'react' },
    ...{ madeBy: 'caller', hasFailed: false, isBusy: false, createdAt: hour, lastActive: hour },
    ...change,
  }
}

/** Registers what holds of sub-agents on every database. */
function registerSubAgentContract(database: () => Database): void {
  const owner = () => ({ tenant: 't', owner: randomUUID() })

  test('sub-agents are stored unchanged and listed oldest first, for their owner only', async () => {
    const store = createSubAgentStore(database())
    const who = owner()
    const late = made({ name: 'late', createdAt: hour + 1, workflowType: 'plan_execute', madeBy: 'agent' })
    const early = made({ name: 'a "quoted" 🙂 name', description: '\0' })
    for (const one of [late, early]) assert.equal(await store.insert(who, one, 9), 'added')
    assert.deepEqual(await store.list(who), [{ ...early, description: '\uFFFD' }, late])
    assert.deepEqual(await store.list({ ...who, tenant: 'other' }), [])
    assert.equal(await store.remove(owner(), late.id), false)
    assert.equal(await store.atWork(owner(), late.id, { holder: 'p', now: 1, busyForMs: 2 }), false)
    assert.equal(await store.remove(who, late.id), true)
    assert.equal(await store.remove(who, late.id), false)
    assert.deepEqual(
      (await store.list(who)).map(({ id }) => id),
      [early.id],
    )
  })

  test('names are unique and the limit holds, even with concurrent inserts', async () => {
    const store = createSubAgentStore(database())
    const who = owner()
    const same = await Promise.all(Array.from({ length: 4 }, () => store.insert(who, made(), 9)))
    assert.deepEqual(same.toSorted(), ['added', 'exists', 'exists', 'exists'])
    const many = await Promise.all(Array.from({ length: 8 }, (_, at) => store.insert(who, made({ name: `n${at}` }), 4)))
    assert.equal(many.filter((one) => one === 'added').length, 3)
    assert.equal(many.filter((one) => one === 'full').length, 5)
    assert.equal(await store.insert(owner(), made(), 1), 'added')
  })

  test('a name with half a surrogate pair equals its stored form', async () => {
    const store = createSubAgentStore(database())
    const who = owner()
    assert.equal(await store.insert(who, made({ name: 'x\ud800' }), 9), 'added')
    assert.equal(await store.insert(who, made({ name: 'x\ufffd' }), 9), 'exists')
  })

  test('only the process that reported work on a sub-agent can end it', async () => {
    const store = createSubAgentStore(database())
    const who = owner()
    const one = made()
    await store.insert(who, one, 9)
    const state = async () => {
      const [{ hasFailed, isBusy, lastActive }] = (await store.list(who)) as [SubAgent]
      return [hasFailed, isBusy, lastActive]
    }
    await store.atWork(who, one.id, { holder: 'p1', now: hour + 1, busyForMs: 60_000 })
    assert.deepEqual(await state(), [false, true, hour + 1])
    await store.ended(who, one.id, { holder: 'p2', now: hour + 2, busyForMs: 0, hasFailed: true })
    assert.deepEqual(await state(), [true, true, hour + 2])
    await store.ended(who, one.id, { holder: 'p1', now: hour + 3, busyForMs: 0, hasFailed: undefined })
    assert.deepEqual(await state(), [true, false, hour + 3])
    await store.ended(who, one.id, { holder: 'p1', now: hour + 4, busyForMs: 0, hasFailed: false })
    assert.deepEqual(await state(), [false, false, hour + 4])
  })
}
