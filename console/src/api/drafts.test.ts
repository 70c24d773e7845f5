import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDrafts, type DraftStorage } from './drafts.ts'

function createStorage(full = false): DraftStorage & { values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem(key, value) {
      if (full) throw new Error('QuotaExceededError')
      values.set(key, value)
    },
    removeItem: (key) => void values.delete(key),
    key: (index) => [...values.keys()][index] ?? null,
    get length() {
      return values.size
    },
  }
}

test('a draft is kept by caller and session', () => {
  const storage = createStorage()
  const ann = createDrafts(storage, 'ann')
  ann.save('s', 'half a question')
  assert.equal(ann.load('s'), 'half a question')
  assert.equal(ann.load('other'), '')
  assert.equal(createDrafts(storage, 'bob').load('s'), '')
})

test('an empty text removes the draft, and logging out all drafts of the caller', () => {
  const storage = createStorage()
  const [ann, bob] = [createDrafts(storage, 'ann'), createDrafts(storage, 'bob')]
  ann.save('s', 'a')
  ann.save('s', '')
  assert.equal(storage.values.size, 0)
  ann.save('s', 'a')
  bob.save('s', 'b')
  ann.clear()
  assert.deepEqual([ann.load('s'), bob.load('s')], ['', 'b'])
})

test('the oldest drafts make room, and a damaged or full storage is no error', (t) => {
  t.mock.timers.enable({ apis: ['Date'] })
  const storage = createStorage()
  const drafts = createDrafts(storage, 'ann')
  for (let index = 0; index < 60; index++) {
    t.mock.timers.tick(1000)
    drafts.save(`s${index}`, 'text')
  }
  assert.equal(storage.values.size, 50)
  assert.equal(drafts.load('s9'), '')
  assert.equal(drafts.load('s10'), 'text')
  storage.values.set('agent-core:draft:ann:bad', '{')
  assert.equal(drafts.load('bad'), '')
  createDrafts(createStorage(true), 'ann').save('s', 'text')
})
