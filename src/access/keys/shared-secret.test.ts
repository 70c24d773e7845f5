import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveCallbackSecret, openCallbackSecrets } from './shared-secret.ts'
import { createMemorySecret } from './memory-key-store.ts'

const one = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
const two = `whsec_${Buffer.alloc(32, 2).toString('base64')}`

test('a secret is made once, and is the same at every start', async () => {
  const stored = createMemorySecret()
  const first = await openCallbackSecrets({ configured: [], stored })
  const again = await openCallbackSecrets({ configured: [], stored })
  assert.match(first.forTenant('default')[0]!, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(first.forTenant('default'), [stored.kept])
  assert.deepEqual(again.forTenant('default'), first.forTenant('default'))
  assert.deepEqual(again.forTenant('other'), first.forTenant('other'))
})

test('configured secrets are used, in order, and none is made', async () => {
  const stored = createMemorySecret()
  const secrets = await openCallbackSecrets({ configured: [one, two], stored })
  assert.deepEqual(secrets.forTenant('default'), [one, two])
  assert.equal(secrets.forTenant('acme').length, 2)
  assert.equal(stored.kept, undefined)
})

test('every tenant has its own secret, derived from the first secret only', async () => {
  const stored = createMemorySecret()
  const secrets = await openCallbackSecrets({ configured: [one], stored })
  const others = await openCallbackSecrets({ configured: [two], stored })
  const all = ['default', 'acme', 'acme2', ''].flatMap((tenant) => [...secrets.forTenant(tenant), ...others.forTenant(tenant)])
  assert.equal(new Set(all).size, all.length)
  // HKDF-SHA256 without salt, as anybody can compute it.
  assert.deepEqual(secrets.forTenant('acme'), ['whsec_867/t5GFHpdBt3g1OdZHyAMlD6CAYbL1jBKHs55cq6I='])
})

test('a secret derived from SECRET_KEY is the same everywhere', async () => {
  // HKDF-SHA256 without salt, as anybody can compute it: receivers know it.
  assert.equal(deriveCallbackSecret('k'.repeat(32)), 'whsec_PUNQatbVg+ssa+4u5M4AistPbtjdNhjKzcihFq1Fu6w=')
  const secrets = await openCallbackSecrets({ configured: [deriveCallbackSecret('k'.repeat(32))], stored: createMemorySecret() })
  assert.deepEqual(secrets.forTenant('default'), [deriveCallbackSecret('k'.repeat(32))])
})

test('a malformed secret is an error and signs nothing', async () => {
  await assert.rejects(
    openCallbackSecrets({ configured: [], stored: createMemorySecret('nonsense') }),
    /^Error: memory holds no callback secret/,
  )
})
