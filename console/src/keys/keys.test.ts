import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyStateOf } from './key-state.ts'
import { lackedBy, permissionsOf } from './roles.ts'

const now = Date.parse('2026-11-22T10:00:00.000Z')

test('a key is active until its expiry, and revoked for ever', () => {
  const expires_at = '2026-11-22T10:00:00.000Z'
  assert.equal(keyStateOf({ expires_at, revoked_at: null }, now - 1), 'active')
  assert.equal(keyStateOf({ expires_at, revoked_at: null }, now), 'expired')
  assert.equal(keyStateOf({ expires_at, revoked_at: '2026-11-21T10:00:00.000Z' }, now + 1), 'revoked')
})

test('permissions stand in their order, unknown ones last and once', () => {
  const roles = [{ permissions: ['keys.manage', 'z.new', 'chat'] }, { permissions: ['chat', 'a.new', 'runs.read'] }]
  assert.deepEqual(permissionsOf(roles), ['chat', 'runs.read', 'keys.manage', 'a.new', 'z.new'])
})

test('a role lacks nothing that the caller has', () => {
  assert.deepEqual(lackedBy(['chat', 'runs.read'], { permissions: ['chat'] }), [])
  assert.deepEqual(lackedBy(['chat'], { permissions: ['chat', 'config.write'] }), ['config.write'])
})
