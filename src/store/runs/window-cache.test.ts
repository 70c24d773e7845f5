import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWindowCache, type CachedWindow } from './window-cache.ts'

const partOf = (session: string) => ({ tenant: 't', session, from: 0 })

function windowOf(characters: number, count = 8): CachedWindow {
  const messages = Array.from({ length: count }, (_, idx) => ({ idx, role: 'human' as const, content: 'x', data: undefined }))
  return { messages, characters, checkpointId: 'c', run: { requestId: 'r', fence: 1 } }
}

test('an unused window leaves the memory within two minutes, and a used one stays', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const windows = createWindowCache()
  for (const session of ['used', 'unused']) windows.keep(partOf(session), windowOf(1))
  for (let minute = 0; minute < 3; minute++) {
    const window = windows.take(partOf('used'))
    assert.ok(window)
    windows.keep(partOf('used'), window)
    t.mock.timers.tick(60_000)
  }
  assert.equal(windows.take(partOf('unused')), undefined)
})

test('the windows that were used longest ago are dropped for lack of room, and short windows are not kept', () => {
  const windows = createWindowCache()
  for (const session of ['a', 'b', 'c']) windows.keep(partOf(session), windowOf(3_000_000))
  assert.deepEqual(
    ['a', 'b', 'c'].map((session) => windows.take(partOf(session)) !== undefined),
    [false, true, true],
  )
  windows.keep(partOf('large'), windowOf(9_000_000))
  windows.keep(partOf('short'), windowOf(1, 7))
  for (const session of ['large', 'short']) assert.equal(windows.take(partOf(session)), undefined)
})
