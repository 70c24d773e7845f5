import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../agent/model.ts'
import { fail, say, ScriptedModel } from '../agent/scripted-model.ts'
import { Learning, type MemoryModels } from './learn.ts'
import { createMemoryCache } from './memory-cache.ts'
import type { Change, Feedback, Material, Memory, MemoryStore, Vector } from './memory.ts'

const caller = { tenant: 't', owner: 'o' }
const signal = new AbortController().signal
const none: MemoryModels = { small: undefined, embedder: undefined }

/** A store of one caller in memory; `before` runs before changes are made. */
function fixture(questions: Record<string, string>, options: { feedback?: Feedback; before?(): void } = {}) {
  const memories = new Map<string, Memory>()
  const sources: { memory: string; madeBy: string }[] = []
  const faults: unknown[] = []
  let version = 0
  let ids = 0
  const change = (one: Change, madeBy: string) => {
    if (one.kind === 'add') memories.set(one.memory.id, one.memory)
    if (one.kind === 'remove') memories.delete(one.id)
    if (one.kind === 'retract') for (const { memory } of sources.filter((source) => source.madeBy === one.madeBy)) memories.delete(memory)
    if (one.kind === 'add' || one.kind === 'confirm') sources.push({ memory: one.kind === 'add' ? one.memory.id : one.id, madeBy })
  }
  const store: MemoryStore = {
    version: async () => version,
    all: async () => ({ version, memories: [...memories.values()] }),
    page: async () => [],
    delete: async () => false,
    async material(_, requestId): Promise<Material | undefined> {
      const question = questions[requestId]
      return question === undefined ? undefined : { session: 'k', sessionId: 's', messageIndex: 0, question, steps: [] }
    },
    hasTaken: async (_, __, madeBy) => sources.some((source) => source.madeBy === madeBy),
    async apply(_, seen, made, { madeBy }) {
      options.before?.()
      if (seen !== version) return 'moved'
      version++
      for (const one of made) change(one, madeBy)
      return 'done'
    },
    async setVectors(_, vectors: ReadonlyMap<string, Vector>) {
      for (const [id, vector] of vectors) memories.set(id, { ...memories.get(id)!, vector })
    },
  }
  const learning = new Learning({
    store,
    feedback: { save: async () => 'saved', find: async () => options.feedback },
    cache: createMemoryCache(store, { now: () => 0 }),
    now: () => 1,
    newId: () => `m${ids++}`,
    onFault: (error) => faults.push(error),
  })
  const contents = () => [...memories.values()].map(({ content }) => content)
  return { learning, contents, memories, sources, faults, bump: () => void version++ }
}

test('a repeated job changes nothing more, even if the model would word it differently', async () => {
  const { learning, contents, sources } = fixture({ r: 'my name is Ada' })
  const small = new ScriptedModel(say('[{"kind":"fact","content":"The user is called Ada."}]'))
  await learning.learnFromRun(caller, 'r', { ...none, small }, signal)
  await learning.learnFromRun(caller, 'r', { ...none, small }, signal)
  small.assertComplete()
  assert.deepEqual(contents(), ['The user is called Ada.'])
  assert.deepEqual(sources, [{ memory: 'm0', madeBy: 'retain r' }])
})

test('nothing is learned from a run whose session is gone', async () => {
  const { learning, contents } = fixture({})
  await learning.learnFromRun(caller, 'r', { ...none, small: new ScriptedModel() }, signal)
  await learning.learnFromFeedback(caller, 'r', none, signal)
  assert.deepEqual(contents(), [])
})

test('a failing model leaves the job to be repeated', async () => {
  const { learning, contents } = fixture({ r: 'my name is Ada' })
  await assert.rejects(learning.learnFromRun(caller, 'r', { ...none, small: new ScriptedModel(fail()) }, signal), /down/)
  assert.deepEqual(contents(), [])
  await learning.learnFromRun(caller, 'r', none, signal)
  assert.deepEqual(contents(), ["The user's name is Ada."])
})

test('two runs of one caller that end together are learned one after another', async () => {
  const { learning, contents } = fixture({ a: 'I live in Rome', b: 'I live in Rome', c: 'my name is Ada' })
  await Promise.all(['a', 'b', 'c'].map((id) => learning.learnFromRun(caller, id, none, signal)))
  assert.deepEqual(contents(), ['The user lives in Rome.', "The user's name is Ada."])
})

test('memories that another process added meanwhile are merged', async () => {
  let races = 2
  const { learning, contents, bump } = fixture({ r: 'I live in Rome' }, { before: () => (races-- > 0 ? bump() : undefined) })
  await learning.learnFromRun(caller, 'r', none, signal)
  assert.deepEqual(contents(), ['The user lives in Rome.'])
})

test('later feedback retracts the lesson of earlier feedback', async () => {
  const feedback: Feedback = { requestId: 'r', score: -1, comment: undefined, createdAt: 0 }
  const { learning, contents } = fixture({ r: 'Leave?' }, { feedback })
  await learning.learnFromFeedback(caller, 'r', none, signal)
  assert.deepEqual(contents(), ['The user found the answer to “Leave?” bad.'])
  feedback.score = 1
  await learning.learnFromFeedback(caller, 'r', none, signal)
  assert.deepEqual(contents(), ['The user found the answer to “Leave?” good.'])
  feedback.score = 0
  await learning.learnFromFeedback(caller, 'r', none, signal)
  assert.deepEqual(contents(), [])
})

test('memories get vectors; missing ones are added when the embedder is back', async () => {
  const { learning, memories, faults } = fixture({ a: 'I live in Rome', b: 'my name is Ada' })
  let isDown = true
  const embedder: Embedder = {
    name: 'e',
    embed: async (texts) => {
      if (isDown) throw new Error('down')
      return texts.map(() => [3, 4])
    },
  }
  await learning.learnFromRun(caller, 'a', { ...none, embedder }, signal)
  assert.equal(memories.get('m0')!.vector, undefined)
  assert.equal(faults.length, 2)
  isDown = false
  await learning.learnFromRun(caller, 'b', { ...none, embedder }, signal)
  const vector = { model: 'e', values: Float32Array.from([0.6, 0.8]) }
  assert.deepEqual(
    [...memories.values()].map((memory) => memory.vector),
    [vector, vector],
  )
})

test('a caller with few memories needs no vectors, and a text in an unknown language gets an empty one', async () => {
  const { learning, memories } = fixture({ a: 'I live in Rome', b: 'my name is Ada' })
  const asked: string[] = []
  const knows = (text: string) => !text.includes('Rome')
  const embed = async (texts: readonly string[]) => (asked.push(...texts), texts.map(() => [1]))
  const models = { ...none, embedder: { name: 'e', knows, embed }, vectorsAbove: 1 }
  await learning.learnFromRun(caller, 'a', models, signal)
  assert.equal(memories.get('m0')!.vector, undefined)
  await learning.learnFromRun(caller, 'b', models, signal)
  assert.deepEqual(
    [...memories.values()].map(({ vector }) => [...vector!.values]),
    [[], [1]],
  )
  assert.equal(asked.length, 1)
})
