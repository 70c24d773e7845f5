import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { watchLoad, type LoadSigns } from './load.ts'

test('a busy event loop or a full heap is an overload when two samples in a row show it', (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.after(() => mock.timers.reset())
  let sample: LoadSigns = { delayMs: 100, heapShare: 0.5 }
  const watch = watchLoad(() => sample, 1000)
  const after = (next: Partial<LoadSigns>) => {
    sample = { delayMs: 100, heapShare: 0.5, ...next }
    mock.timers.tick(1000)
    return watch.overload()
  }
  assert.equal(after({ delayMs: 5000 }), undefined)
  assert.equal(after({}), undefined)
  assert.equal(after({ delayMs: 1500 }), undefined)
  assert.match(after({ delayMs: 1500 })!, /busy/)
  assert.match(after({ heapShare: 0.95 })!, /memory/)
  assert.equal(after({}), undefined)
  watch.close()
  assert.equal(after({ delayMs: 1500 }), undefined)
})
