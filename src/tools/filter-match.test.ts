import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { DataFilter } from '../agent/tool.ts'
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

test('what can not be compared lets nothing through', () => {
  for (const type of ['equals', 'not_equals', 'in', 'contains'] as const) {
    for (const key of ['missing', 'constructor', '__proto__', 'toString']) assert.ok(!passes(key, type, ''), `${key} ${type}`)
  }
  assert.ok(!passes('level', 'not_equals', 'three'))
  assert.ok(!passes('level', 'equals', ''))
  assert.ok(!passes('public', 'not_equals', 'maybe'))
  assert.ok(!passes('since', 'not_equals', 'yesterday'))
  assert.ok(!passes('department', 'like' as DataFilter['type'], 'hr'))
})

test('several filters must all be met, and none filters nothing', () => {
  const hr: DataFilter = { tool: 't', key: 'department', type: 'equals', value: 'hr' }
  assert.ok(matchesFilters(fields, []))
  assert.ok(matchesFilters(fields, [hr, { ...hr, key: 'level', value: '3' }]))
  assert.ok(!matchesFilters(fields, [hr, { ...hr, value: 'it' }]))
})
