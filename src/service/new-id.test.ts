import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNewId } from './new-id.ts'

test('ids of one millisecond, and of a clock that is set back, are in the order of their creation', () => {
  let time = 1_790_000_000_000
  const newId = createNewId(() => time)
  const ids = Array.from({ length: 10_000 }, newId)
  time -= 60_000
  ids.push(newId())
  time += 120_000
  ids.push(newId())
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.equal(Number.parseInt(ids[0]!.replace('-', '').slice(0, 12), 16), 1_790_000_000_000)
  assert.equal(Number.parseInt(ids.at(-1)!.replace('-', '').slice(0, 12), 16), time)
})
