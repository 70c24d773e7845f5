import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataFilter } from '../../agent/tool.ts'
import { matchesFilters } from './filter-match.ts'

const fields = { department: 'hr', level: 3, public: true, since: '2026-01-31', path: 'hr/leave.md', note: '' }

function passes(key: string, type: DataFilter['type'], value: string): boolean {
  return matchesFilters(fields, [{ tool: 't', key, type, value }])
}

test('values are compared in the type of the field', () => {
  assert.ok(passes('level', 'equals', '3'))
  assert.ok(passes('level', 'equals', ' 3.0 '))
  assert.ok(passes('public', 'equals', 'TRUE'))
  assert.ok(passes('since', 'equals', '2026-01-31T00:00:00Z'))
  assert.ok(passes('since', 'equals', '2026-01-31 00:00'))
  assert.ok(passes('department', 'equals', 'hr'))
  assert.ok(!passes('department', 'equals', 'HR'))
  assert.ok(!passes('department', 'equals', 'hr '))
  assert.ok(!passes('level', 'equals', '33'))
})

test('each type of filter does what its name says', () => {
  assert.ok(passes('department', 'not_equals', 'it'))
  assert.ok(!passes('department', 'not_equals', 'hr'))
  assert.ok(passes('department', 'in', 'it, hr'))
  assert.ok(passes('level', 'in', '1,3'))
  assert.ok(!passes('department', 'in', 'it,h'))
  assert.ok(passes('path', 'contains', 'leave'))
  assert.ok(!passes('path', 'contains', 'LEAVE'))
})

test('a filter that cannot be compared matches nothing', () => {
  for (const type of ['equals', 'not_equals', 'in', 'contains'] as const) {
    for (const key of ['missing', 'constructor', '__proto__', 'toString']) assert.ok(!passes(key, type, ''), `${key} ${type}`)
  }
  assert.ok(!passes('level', 'not_equals', 'three'))
  assert.ok(!passes('level', 'equals', ''))
  assert.ok(!passes('public', 'not_equals', 'maybe'))
  assert.ok(!passes('since', 'not_equals', 'yesterday'))
  assert.ok(!passes('department', 'like' as DataFilter['type'], 'hr'))
})

test('all filters must match, and an empty list of filters matches everything', () => {
  const hr: DataFilter = { tool: 't', key: 'department', type: 'equals', value: 'hr' }
  assert.ok(matchesFilters(fields, []))
  assert.ok(matchesFilters(fields, [hr, { ...hr, key: 'level', value: '3' }]))
  assert.ok(!matchesFilters(fields, [hr, { ...hr, value: 'it' }]))
})

test('a long value costs time in proportion to its length', () => {
  const values = [
    '1'.repeat(2_000_000) + 'x',
    `${' '.repeat(2_000_000)}x`,
    `1e${'1'.repeat(2_000_000)}x`,
    `2026-01-01T00:00:00.${'0'.repeat(2_000_000)}`,
  ]
  for (const value of values) {
    for (const key of ['level', 'public', 'since', 'department']) assert.ok(!passes(key, 'equals', value), key)
  }
})

test('the values of an `in` filter are parsed once, not for each document', () => {
  let reads = 0
  const text = Array.from({ length: 1000 }, (_, n) => n).join()
  const filter = { tool: 't', key: 'level', type: 'in' } as DataFilter
  Object.defineProperty(filter, 'value', { get: () => (reads++, text) })
  for (let level = 0; level < 1500; level++) assert.equal(matchesFilters({ level }, [filter]), level < 1000)
  assert.equal(reads, 1)
})
