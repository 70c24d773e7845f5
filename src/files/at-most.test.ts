import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atMost } from './at-most.ts'

test('no more than so many run at once, in order of arrival, and a failure frees its place', async () => {
  const limited = atMost(2)
  const started: number[] = []
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const all = gates.map((gate, at) =>
    limited(() => {
      started.push(at)
      return gate.promise
    }),
  )
  const ends = Promise.allSettled(all)
  const settled = () => new Promise(setImmediate)
  await settled()
  assert.deepEqual(started, [0, 1])
  gates[1]!.reject(new Error('broken'))
  await settled()
  assert.deepEqual(started, [0, 1, 2])
  gates[0]!.resolve(0)
  gates[2]!.resolve(2)
  await settled()
  assert.deepEqual(started, [0, 1, 2, 3, 4])
  gates[3]!.resolve(3)
  gates[4]!.resolve(4)
  assert.deepEqual(
    (await ends).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
})
