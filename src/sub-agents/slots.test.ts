import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { Slots, type Slot } from './delegation.ts'

const never = new AbortController().signal

test('no more sub-agents work at the same time than there are slots, in order of arrival', async () => {
  const slots = new Slots(2)
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const begun: number[] = []
  const all = ends.map(({ promise }, at) => slots.use(undefined, never, () => (begun.push(at), promise)))
  await tick()
  assert.deepEqual(begun, [0, 1])
  ends[1]!.resolve()
  await tick()
  assert.deepEqual(begun, [0, 1, 2])
  for (const end of ends) end.resolve()
  await Promise.all(all)
  assert.deepEqual(begun, [0, 1, 2, 3])
})

test('a waiting parent lends its slot to its children and gets it back before it continues', async () => {
  const slots = new Slots(1)
  let working = 0
  let most = 0
  const count = async () => {
    most = Math.max(most, ++working)
    await tick()
    working--
  }
  async function work(slot: Slot, depth: number): Promise<void> {
    await count()
    if (depth > 0) await Promise.all([1, 2, 3].map(() => slots.use(slot, never, (own) => work(own, depth - 1))))
    await count()
  }
  await Promise.all([1, 2].map(() => slots.use(undefined, never, (slot) => work(slot, 2))))
  assert.equal(most, 1)
  // All places are there again.
  await slots.use(undefined, never, async () => undefined)
})

test('an aborted wait takes no slot, and no slot is lost', async () => {
  const slots = new Slots(1)
  const stop = new AbortController()
  const end = Promise.withResolvers<void>()
  const first = slots.use(undefined, never, () => end.promise)
  const second = slots.use(undefined, stop.signal, async () => 'begun')
  stop.abort(new Error('stopped'))
  await assert.rejects(second, /stopped/)
  await assert.rejects(
    slots.use(undefined, stop.signal, async () => 'begun'),
    /stopped/,
  )
  end.resolve()
  await first
  assert.equal(await slots.use(undefined, never, async () => 'begun'), 'begun')
})

test('a parent continues when a child fails or is stopped', async () => {
  const slots = new Slots(1)
  const stop = new AbortController()
  await slots.use(undefined, never, async (slot) => {
    await assert.rejects(
      slots.use(slot, never, () => Promise.reject(new Error('no'))),
      /no/,
    )
    assert.equal(slot.isHeld, true)
    const [one] = await Promise.allSettled([
      slots.use(slot, stop.signal, async () => stop.abort()),
      slots.use(slot, stop.signal, async () => 'never'),
    ])
    assert.equal(one.status, 'fulfilled')
  })
  assert.equal(await slots.use(undefined, never, async () => 'free'), 'free')
})
