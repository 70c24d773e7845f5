import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOf } from './period.ts'

test('a period starts at a whole minute', () => {
  const now = Date.parse('2026-11-22T10:15:42.123Z')
  assert.equal(startOf('1h', now), Date.parse('2026-11-22T09:15:00.000Z'))
  assert.equal(startOf('7d', now), Date.parse('2026-11-15T10:15:00.000Z'))
})

test('no period, and one that is unknown, have no bound', () => {
  assert.equal(startOf(undefined), undefined)
  assert.equal(startOf('constructor'), undefined)
})
