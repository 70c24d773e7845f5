import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import { slotsFor } from './document-process.ts'

test('parsers at a time fit into the memory of the container or the machine', () => {
  assert.deepEqual(
    [0.5, 2, 3.7, 100_000].map((gibibytes) => slotsFor(gibibytes * 1024 ** 3)),
    [1, 1, 2, slotsFor(totalmem())],
  )
})
