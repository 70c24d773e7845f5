import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue, shareOf } from './fair-queue.ts'

const callers = { a: { tenant: 'one', owner: 'a' }, b: { tenant: 'one', owner: 'b' }, c: { tenant: 'two', owner: 'a' } }
const callOf = (name: string) => ({ name, caller: callers[name[0] as keyof typeof callers] })

function queueOf(names: readonly string[]): FairQueue<ReturnType<typeof callOf>> {
  const queue = new FairQueue<ReturnType<typeof callOf>>()
  for (const name of names) queue.add(callOf(name))
  return queue
}

function serveAll(queue: FairQueue<ReturnType<typeof callOf>>): string[] {
  const served: string[] = []
  for (let [next] = queue; next; [next] = queue) {
    queue.serve(next)
    served.push(next.name)
  }
  return served
}

test('callers take turns, and the calls of one caller keep their order', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
  assert.deepEqual(
    [...queue].map(({ name }) => name),
    ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'],
  )
  assert.deepEqual(serveAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  assert.equal(queue.size, 0)
})

test('a caller that was just served comes after a new caller', () => {
  const queue = queueOf(['a1', 'a2', 'a3'])
  const [first] = queue
  queue.serve(first!)
  queue.add(callOf('b1'))
  assert.deepEqual(serveAll(queue), ['a2', 'b1', 'a3'])
})

test('a removed call does not use up the turn of its caller', () => {
  const queue = queueOf(['a1', 'a2'])
  queue.add(callOf('b1'))
  const [first] = queue
  queue.remove(first!)
  queue.remove(first!)
  assert.equal(queue.size, 2)
  assert.deepEqual(serveAll(queue), ['a2', 'b1'])
})

test('the number of waiting calls is limited per caller', () => {
  const queue = new FairQueue<ReturnType<typeof callOf>>(2)
  queue.add(callOf('a1'))
  queue.add(callOf('a2'))
  assert.throws(() => queue.add(callOf('a3')), /^PoolBusy: 2 of your calls are already waiting/)
  queue.add(callOf('c1'))
  assert.equal(queue.size, 3)
})

test('one caller may hold half of the slots, but at least one', () => {
  assert.deepEqual([1, 2, 3, 4, 8].map(shareOf), [1, 1, 1, 2, 4])
})
