import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage } from '../../test/fixtures/garbage.ts'
import { explore } from './explore.ts'
import { SimulatedStore } from './store.ts'

test('schedules that have ended leave nothing in the memory', async () => {
  const stores: WeakRef<SimulatedStore>[] = []
  const createStore = () => {
    const store = new SimulatedStore()
    stores.push(new WeakRef(store))
    return store
  }
  await explore({ schedules: 150, seed: 1, createStore })
  await collectGarbage()
  assert.deepEqual({ created: stores.length, left: stores.filter((store) => store.deref()).length }, { created: 150, left: 0 })
})
