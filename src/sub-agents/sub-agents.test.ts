import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../configuration/agent.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import { localBus, type Bus, type Topics } from '../replicas/bus.ts'
import type { SubAgent, SubAgentStore } from './sub-agent-store.ts'
import { createSubAgents, createSubAgentWork } from './sub-agents.ts'

const ann = { tenant: 't', owner: 'ann' }
const bob = { tenant: 't', owner: 'bob' }
const never = new AbortController().signal

/** A store in memory that counts its reads, and tells what it is told of work. */
function fakeStore() {
  const rows: { owner: string; one: SubAgent }[] = []
  const told: unknown[] = []
  let reads = 0
  const ofId = (owner: string, id: string) => rows.findIndex((row) => row.owner === owner && row.one.id === id)
  const store: SubAgentStore = {
    list: async ({ owner }) => (reads++, rows.filter((row) => row.owner === owner).map(({ one }) => one)),
    insert: async ({ owner }, one) => (rows.push({ owner, one }), 'added'),
    remove: async ({ owner }, id) => ofId(owner, id) >= 0 && rows.splice(ofId(owner, id), 1).length > 0,
    atWork: async ({ owner }, id) => ofId(owner, id) >= 0,
    ended: async (_who, _id, { hasFailed, busyForMs }) => void told.push({ hasFailed, busyForMs }),
  }
  return { store, told, reads: () => reads, rows }
}

const tool = (name: string, status: 'ready' | 'initializing') => ({ name, status, description: '', schema: {} })
const agent = () =>
  ({ config: toAgentConfig({}), tools: { list: () => [tool('a', 'ready'), tool('slow', 'initializing')] } }) as unknown as Agent

function subAgentsOn(isShared: boolean) {
  const fake = fakeStore()
  let ids = 0
  let time = 1000
  const heard: ((data: Topics['sub_agent']) => void)[] = []
  const told: unknown[] = []
  const bus = {
    ...localBus,
    publish: (_topic: string, data: unknown) => told.push(data),
    subscribe: (topic: string, listener: (typeof heard)[number]) => topic === 'sub_agent' && heard.push(listener),
  } as unknown as Bus
  const common = { agent, isShared, bus, holder: 'p', now: () => time, newId: () => `id${++ids}`, onFault: assert.ifError }
  return {
    ...fake,
    toldOthers: told,
    hear: (who: typeof ann) => heard.forEach((listener) => listener(who)),
    pass: (ms: number) => void (time += ms),
    subAgents: createSubAgents({ ...common, store: fake.store }),
  }
}

const plain = { name: 'x', description: '', objective: '', tools: ['a'], workflowType: 'react' as const }

test('a private store is read once, a shared store every time', async () => {
  for (const [isShared, expected] of [
    [false, 2],
    [true, 4],
  ] as const) {
    const { subAgents, reads } = subAgentsOn(isShared)
    for (const who of [ann, ann, bob, ann]) assert.deepEqual(await subAgents.list(who), [])
    assert.equal(reads(), expected)
    await subAgents.create(ann, plain, 'caller')
    assert.equal((await subAgents.list(ann)).length, 1)
  }
})

test('an empty list is cached for runs on a shared store, until a message arrives or time passes', async () => {
  const { subAgents, reads, hear, pass, rows } = subAgentsOn(true)
  const lists = async () => (await subAgents.listForRun(ann)).length
  assert.deepEqual([await lists(), await lists(), reads()], [0, 0, 1])
  pass(3000)
  assert.deepEqual([await lists(), await lists(), reads()], [0, 0, 2])
  const elsewhere = subAgentsOn(true)
  await elsewhere.subAgents.create(ann, plain, 'caller')
  assert.deepEqual(elsewhere.toldOthers, [ann])
  rows.push(...elsewhere.rows)
  assert.equal(await lists(), 0)
  hear(ann)
  assert.deepEqual([await lists(), await lists(), reads()], [1, 1, 4])
})

test('status: initializing with its tools, busy while working, error after a failure, ready otherwise', async () => {
  const { subAgents, told } = subAgentsOn(false)
  const slow = await subAgents.create(ann, { ...plain, tools: ['a', 'slow', 'a'] }, 'caller')
  assert.deepEqual({ tools: slow.tools, statusOf: subAgents.statusOf(slow) }, { tools: ['a', 'slow'], statusOf: 'initializing' })
  const one = await subAgents.create(ann, plain, 'caller')
  assert.equal(subAgents.statusOf(one), 'ready')
  assert.equal(await subAgents.workAs(ann, one, never, async () => subAgents.statusOf(one)), 'busy')
  await assert.rejects(subAgents.workAs(ann, one, never, () => Promise.reject(new Error('no'))))
  await assert.rejects(subAgents.workAs(ann, one, AbortSignal.abort(), () => Promise.reject(new Error('stopped'))))
  assert.deepEqual(
    told,
    [false, true, undefined].map((hasFailed) => ({ hasFailed, busyForMs: 0 })),
  )
  assert.deepEqual(
    [subAgents.statusOf(one), subAgents.statusOf({ ...one, hasFailed: true }), subAgents.statusOf({ ...one, isBusy: true })],
    ['ready', 'error', 'busy'],
  )
})

test('a removed sub-agent does no work, and one terminated elsewhere is stopped here', async () => {
  const { store, rows } = fakeStore()
  const work = createSubAgentWork({ store, holder: 'p', heartbeatMs: 5, now: () => 1000, onFault: assert.ifError })
  const one: SubAgent = { ...plain, id: 'i', madeBy: 'caller', hasFailed: false, isBusy: false, createdAt: 0, lastActive: 0 }
  await assert.rejects(
    work.as(ann, one, never, async () => 'done'),
    /x is not there any more/,
  )
  rows.push({ owner: ann.owner, one })
  const stopped = work.as(ann, one, never, (terminated) => {
    rows.length = 0
    return new Promise((resolve) => terminated.addEventListener('abort', () => resolve('stopped')))
  })
  assert.equal(await stopped, 'stopped')
  assert.equal(work.isBusy('i'), false)
})
